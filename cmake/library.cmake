# libzhuyi.so: the rooms up to infer behind the headers of include/zhuyi/, and what an outside project finds it by.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The rooms are part of the shared library, and call each other directly there: nothing of them is seen from outside.
foreach(room IN ITEMS base kernels tensor autograd ops nn text data formats infer)
  get_target_property(type zhuyi_${room} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    set_target_properties(zhuyi_${room} PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
endforeach()

file(GLOB library_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/library/*.cc)
add_library(zhuyi_library SHARED ${library_sources})
add_library(zhuyi::zhuyi ALIAS zhuyi_library)
target_include_directories(zhuyi_library
  PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(zhuyi_library PUBLIC cxx_std_20)
target_compile_definitions(zhuyi_library PRIVATE ZHUYI_VERSION="${PROJECT_VERSION}")
target_link_libraries(zhuyi_library PRIVATE zhuyi_infer)
# Without the version script the templates of the standard library that the code uses would be seen too.
target_link_options(zhuyi_library PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/exported_symbols.map)
set_target_properties(zhuyi_library PROPERTIES
  OUTPUT_NAME zhuyi EXPORT_NAME zhuyi VERSION ${PROJECT_VERSION}
  # Before 1.0 every minor version may change the interface.
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exported_symbols.map
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/zhuyi)
install(TARGETS zhuyi_library EXPORT zhuyiTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/zhuyi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT zhuyiTargets NAMESPACE zhuyi:: DESTINATION ${package} COMPONENT library)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/zhuyiConfig.cmake.in
  ${CMAKE_BINARY_DIR}/zhuyiConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/zhuyiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/zhuyiConfig.cmake ${CMAKE_BINARY_DIR}/zhuyiConfigVersion.cmake
  DESTINATION ${package} COMPONENT library)

# From the folder of zhuyi.pc to the prefix, so that what is installed can be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/zhuyi.pc.in ${CMAKE_BINARY_DIR}/zhuyi.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/zhuyi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
