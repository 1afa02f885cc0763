# SPDX-License-Identifier: Apache-2.0
# find_package(Canopy) gives CANN::ascendcl, CANN::nnopbase and CANN::opapi. The real path is taken first because the
# package is reached through links; nothing here names the prefix, so it may be moved.
get_filename_component(_canopy_package "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_canopy_lib "${_canopy_package}/../.." ABSOLUTE)
get_filename_component(_canopy_include "${_canopy_lib}/../include" ABSOLUTE)

# _canopy_library(target file [linked targets...])
function(_canopy_library target file)
  if(TARGET CANN::${target})
    return()
  endif()
  add_library(CANN::${target} SHARED IMPORTED)
  set_target_properties(CANN::${target} PROPERTIES
    IMPORTED_LOCATION "${_canopy_lib}/${file}"
    IMPORTED_SONAME "${file}"
    INTERFACE_INCLUDE_DIRECTORIES "${_canopy_include};${_canopy_include}/aclnn"
    INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

_canopy_library(ascendcl libascendcl.so)
_canopy_library(nnopbase libnnopbase.so CANN::ascendcl)
_canopy_library(opapi libopapi_nn.so CANN::nnopbase)
