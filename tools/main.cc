// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "tools/commands.h"

int main(int argc, char** argv) {
  using namespace canopy::tools;
  CLI::App app(
      "Canopy: CANN convolution operators on any processor.\n"
      "A problem is one line of text, for example\n"
      "  conv_backward f32 n8 ci64 co128 in56x56 k3x3 p1x1\n"
      "  tbc_backward f16 t45 b32 ci512 co512 k3 pad1\n"
      "docs/problem-text.md has all of it.",
      "canopy");
  app.require_subcommand(1);
  app.set_version_flag("--version", "canopy " CANOPY_VERSION);
  app.footer("Exit codes: 0 all is well, 1 a check failed, 2 the command line or a file cannot be used.");
  Action action;
  AddRunCommand(&app, &action);
  AddCheckCommand(&app, &action);
  AddExplainCommand(&app, &action);
  AddInfoCommand(&app, &action);
  AddBenchCommand(&app, &action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kPassed : kBadUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "canopy: %s\n", error.what());
    return kBadUsage;
  }
}
