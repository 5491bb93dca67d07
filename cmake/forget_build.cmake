# SPDX-License-Identifier: Apache-2.0
# After an installation: what is installed names no folder of the build (src/backends/path_of_build.h).
# Needs READELF, and FOLDER: where the programs and libraries were put.
file(GLOB files ${FOLDER}/bin/dycl ${FOLDER}/lib/dycl/*.so ${FOLDER}/lib/dycl/dycl_openvino_compile ${FOLDER}/_native*.so)
foreach(file ${files})
  execute_process(COMMAND ${READELF} -S -W ${file} OUTPUT_VARIABLE sections RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${file} cannot be read")
  endif()
  # name, type, address, offset, size
  if(NOT sections MATCHES "dycl_build +[A-Z]+ +[0-9a-f]+ +([0-9a-f]+) +([0-9a-f]+)")
    continue()
  endif()
  math(EXPR offset "0x${CMAKE_MATCH_1}")
  math(EXPR size "0x${CMAKE_MATCH_2}")
  execute_process(COMMAND dd if=/dev/zero of=${file} bs=1 seek=${offset} count=${size} conv=notrunc status=none
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${file} cannot be rewritten without the paths of the build")
  endif()
endforeach()
