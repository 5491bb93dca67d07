# What `make install PREFIX=...` adds to the runtime's own rules (src/runtime/CMakeLists.txt): tools, plug-ins and,
# where the build has it, the engine beside its plug-in, so that the prefix runs on its own.
install(TARGETS dycl_run RUNTIME DESTINATION bin)
install(TARGETS dycl RUNTIME DESTINATION bin OPTIONAL)
add_custom_target(dycl_installed DEPENDS dycl_runtime_shared dycl_run dycl)  # what an installation needs built
foreach(plugin dycl_plugin_ort dycl_plugin_openvino dycl_plugin_tvm)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/dycl)
    add_dependencies(dycl_installed ${plugin})
  endif()
endforeach()
if(TARGET dycl_plugin_ort AND EXISTS ${DYCL_ORT_ROOT}/lib/libonnxruntime.so.1)
  file(REAL_PATH ${DYCL_ORT_ROOT}/lib/libonnxruntime.so.1 engine)
  install(FILES ${engine} DESTINATION lib/dycl RENAME libonnxruntime.so.1)
endif()
if(TARGET dycl_openvino_compile)
  install(TARGETS dycl_openvino_compile RUNTIME DESTINATION lib/dycl)
  add_dependencies(dycl_installed dycl_openvino_compile)
endif()
if(TARGET dycl_plugin_tvm)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/backends/tvm/compiler/ DESTINATION lib/dycl/tvm_compiler
    FILES_MATCHING PATTERN "*.py")
endif()

if(CMAKE_READELF)
  install(CODE "set(READELF ${CMAKE_READELF})\nset(FOLDER \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")\ninclude(${PROJECT_SOURCE_DIR}/cmake/forget_build.cmake)")
else()
  message(FATAL_ERROR "readelf (binutils) is not there; an installation needs it")
endif()

# Man pages and completions, which scripts/help_pages.py writes; not into a wheel.
if(NOT SKBUILD)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/man/ DESTINATION share/man/man1)
  foreach(tool dycl dycl-run)
    install(FILES ${PROJECT_SOURCE_DIR}/share/completions/dycl.bash DESTINATION share/bash-completion/completions RENAME ${tool})
    install(FILES ${PROJECT_SOURCE_DIR}/share/completions/dycl.fish DESTINATION share/fish/vendor_completions.d RENAME ${tool}.fish)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/share/completions/_dycl DESTINATION share/zsh/site-functions)
endif()
