# keel.spdx.json, what Keel is made of as SPDX 2.3: in the build folder, and installed with the package. Versions are those
# that were found when this was configured. A library that a module links and that is not in this table stops the
# configuration.

# the target that is linked | name | version | licence | where it is from
set(keel_dependencies
  "fmt::fmt|fmt|${fmt_VERSION}|MIT|https://github.com/fmtlib/fmt"
  "yaml-cpp::yaml-cpp|yaml-cpp|${yaml-cpp_VERSION}|MIT|https://github.com/jbeder/yaml-cpp"
  "SQLite::SQLite3|SQLite|${SQLite3_VERSION}|blessing|https://sqlite.org"
  "ZLIB::ZLIB|zlib|${ZLIB_VERSION_STRING}|Zlib|https://zlib.net"
  "OpenSSL::SSL|OpenSSL|${OPENSSL_VERSION}|Apache-2.0|https://openssl-library.org"
  "keel_re2|RE2|${keel_re2_version}|BSD-3-Clause|https://github.com/google/re2"
  "PkgConfig::libbrotlienc|brotli|${libbrotlienc_VERSION}|MIT|https://github.com/google/brotli"
  "PkgConfig::libzstd|zstd|${libzstd_VERSION}|BSD-3-Clause OR GPL-2.0-only|https://github.com/facebook/zstd"
  "PkgConfig::liburing|liburing|${liburing_VERSION}|LGPL-2.1-or-later OR MIT|https://github.com/axboe/liburing"
  "backtrace|libbacktrace|${CMAKE_CXX_COMPILER_VERSION}|BSD-3-Clause|https://github.com/ianlancetaylor/libbacktrace")

# keel_write_sbom(FILE MODULE...)
function(keel_write_sbom file)
  set(linked "")
  foreach(module IN LISTS ARGN)
    get_target_property(links ${module} INTERFACE_LINK_LIBRARIES)
    list(TRANSFORM links REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
    list(APPEND linked ${links})
  endforeach()
  list(TRANSFORM linked REPLACE "libbrotlidec" "libbrotlienc")  # One package.
  list(REMOVE_DUPLICATES linked)

  set(packages "")
  set(relations "")
  foreach(row IN LISTS keel_dependencies)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 target)
    if(NOT target IN_LIST linked)
      continue()
    endif()
    list(REMOVE_ITEM linked ${target})
    list(GET row 1 name)
    list(GET row 2 version)
    list(GET row 3 licence)
    list(GET row 4 from)
    set(how DYNAMIC_LINK)
    if(target STREQUAL "backtrace")
      set(how STATIC_LINK)
    endif()
    string(APPEND packages ",
    {\"SPDXID\": \"SPDXRef-${name}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\",
     \"downloadLocation\": \"${from}\", \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\",
     \"licenseDeclared\": \"${licence}\", \"copyrightText\": \"NOASSERTION\",
     \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\",
                       \"referenceLocator\": \"pkg:generic/${name}@${version}\"}]}")
    string(APPEND relations ",
    {\"spdxElementId\": \"SPDXRef-keel\", \"relationshipType\": \"${how}\", \"relatedSpdxElement\": \"SPDXRef-${name}\"}")
  endforeach()
  list(FILTER linked EXCLUDE REGEX "^(keel|Threads)::|^keel_|^-")
  if(linked)
    message(FATAL_ERROR "cmake/KeelSbom.cmake has no row for ${linked}, which a module links")
  endif()

  string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC)
  string(UUID id NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 NAME "${created}${packages}" TYPE SHA1)
  file(CONFIGURE OUTPUT ${file} CONTENT "{
  \"spdxVersion\": \"SPDX-2.3\",
  \"dataLicense\": \"CC0-1.0\",
  \"SPDXID\": \"SPDXRef-DOCUMENT\",
  \"name\": \"keel-${PROJECT_VERSION}\",
  \"documentNamespace\": \"urn:uuid:${id}\",
  \"creationInfo\": {\"created\": \"${created}\", \"creators\": [\"Tool: cmake-${CMAKE_VERSION}\"]},
  \"packages\": [
    {\"SPDXID\": \"SPDXRef-keel\", \"name\": \"keel\", \"versionInfo\": \"${PROJECT_VERSION}\",
     \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\",
     \"licenseDeclared\": \"Apache-2.0\", \"copyrightText\": \"NOASSERTION\"}${packages}
  ],
  \"relationships\": [
    {\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-keel\"}${relations}
  ]
}
" @ONLY)
endfunction()
