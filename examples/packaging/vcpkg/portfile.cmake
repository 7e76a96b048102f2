# Set MCAMP_SOURCE to a copy of the tree, or replace the next lines by
# vcpkg_from_git(OUT_SOURCE_PATH SOURCE_PATH URL … REF …) with the revision you trust.
if(NOT DEFINED ENV{MCAMP_SOURCE})
  message(FATAL_ERROR "set MCAMP_SOURCE to a copy of the tree (and add it to "
                      "VCPKG_KEEP_ENV_VARS)")
endif()
set(SOURCE_PATH "$ENV{MCAMP_SOURCE}")
set(VERSION "0.4.0")
set(PREFIX "${CURRENT_PACKAGES_DIR}")
file(INSTALL "${SOURCE_PATH}/mcamp.h" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
foreach(name mcamp-config mcamp-config-version)
  configure_file("${SOURCE_PATH}/examples/packaging/${name}.cmake.in"
                 "${CURRENT_PACKAGES_DIR}/share/mcamp/${name}.cmake" @ONLY)
endforeach()
# In this layout the package lies one directory nearer to the root.
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/mcamp/mcamp-config.cmake"
                     "/../../.." "/../..")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
