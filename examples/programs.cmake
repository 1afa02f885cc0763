# SPDX-License-Identifier: Apache-2.0
# The programs, for both ways of building them.
set(here ${CMAKE_CURRENT_LIST_DIR})
foreach(program conv_1d conv_2d conv_3d conv_transposed conv_tbc)
  add_executable(${program} ${here}/${program}.cc)
endforeach()
add_executable(gradient_check ${here}/gradient_check/main.cc ${here}/gradient_check/problem.cc)
add_executable(train_digits ${here}/train_digits/main.cc ${here}/train_digits/conv_layer.cc
               ${here}/train_digits/digits.cc ${here}/train_digits/network.cc)
