# What `make install PREFIX=...` adds to the runtime's own rules (src/runtime/CMakeLists.txt): tools, plug-ins and,
# where the build has it, the engine beside its plug-in, so that the prefix runs on its own.
install(TARGETS dycl_run RUNTIME DESTINATION bin)
install(TARGETS dycl RUNTIME DESTINATION bin OPTIONAL)
foreach(plugin dycl_plugin_ort dycl_plugin_openvino dycl_plugin_tvm)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/dycl)
  endif()
endforeach()
if(TARGET dycl_plugin_ort AND EXISTS ${DYCL_ORT_ROOT}/lib/libonnxruntime.so.1)
  file(REAL_PATH ${DYCL_ORT_ROOT}/lib/libonnxruntime.so.1 engine)
  install(FILES ${engine} DESTINATION lib/dycl RENAME libonnxruntime.so.1)
endif()
if(TARGET dycl_plugin_tvm)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/backends/tvm/compiler/ DESTINATION lib/dycl/tvm_compiler
    FILES_MATCHING PATTERN "*.py")
endif()
