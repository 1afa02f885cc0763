# SPDX-License-Identifier: Apache-2.0
# Runs while installing: folders, links and the environment script. REQUIRES: CANOPY_ARCH, CANOPY_PACKAGING_DIR.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

function(link_to target name)
  if(IS_DIRECTORY "${root}/${name}" AND NOT IS_SYMLINK "${root}/${name}")
    message(FATAL_ERROR "${root}/${name} is a folder; Canopy wants a link there. Install into an empty prefix.")
  endif()
  file(CREATE_LINK ${target} "${root}/${name}" SYMBOLIC)
endfunction()

file(MAKE_DIRECTORY "${root}/compiler" "${root}/opp" "${root}/share")
link_to(${CANOPY_ARCH}-linux/include include)
link_to(${CANOPY_ARCH}-linux/lib64 lib64)
# The names that older programs link; one library behind each pair.
link_to(libascendcl.so ${CANOPY_ARCH}-linux/lib64/libacl_rt.so)
link_to(libopapi_nn.so ${CANOPY_ARCH}-linux/lib64/libopapi.so)
# Debian's CMake does not look into lib64 for packages; it does look into share.
link_to(../lib64/cmake share/cmake)

file(WRITE "${root}/opp/scene.info" "os=linux\narch=${CANOPY_ARCH}\n")
set(CANOPY_PREFIX "${CMAKE_INSTALL_PREFIX}")
configure_file("${CANOPY_PACKAGING_DIR}/set_env.sh.in" "${root}/set_env.sh" @ONLY)
