# Installs the build in BUILD at PREFIX, where nothing of another one is left.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
