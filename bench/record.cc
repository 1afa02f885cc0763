// SPDX-License-Identifier: Apache-2.0
#include "bench/record.h"

#include <algorithm>
#include <cstdio>

#include "bench/engine_implementation.h"
#include "bench/statistics.h"
#include "bench/ways.h"
#include "bench/work.h"

namespace canopy::bench {
namespace {

using nlohmann::json;

constexpr double kMiB = 1 << 20;

template <class... Values>
std::string Format(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

json BoundsOf(const conv::Call& call, double peak_gflops, const Bandwidth& bandwidth) {
  json bounds = json::object();
  for (const What what : kWhats) {
    if (!Offers(call, what)) continue;
    const Work work = WorkOf(call, what);
    const double compute = peak_gflops > 0 ? work.flops / peak_gflops * 1e-6 : 0;
    const double memory = work.bytes / bandwidth.At(work.bytes) * 1e-6;
    bounds[WhatName(what)] = {
        {"flops", work.flops}, {"bytes", work.bytes}, {"ms", std::max(compute, memory)}, {"memory", memory > compute}};
  }
  return bounds;
}

json TimesOf(const Measured& measured) {
  json times = json::array();
  for (const auto& [what, ways] : measured.samples) {
    for (const auto& [way, samples] : ways) {
      times.push_back({{"what", WhatName(what)},
                       {"way", way},
                       {"family", FamilyOf(way)},
                       {"ms", 1e3 * Median(samples)},
                       {"least_ms", 1e3 * *std::min_element(samples.begin(), samples.end())},
                       {"samples", samples.size()}});
    }
  }
  return times;
}

// The fastest way of a part; null where there is none.
json Fastest(const json& measured, const char* what) {
  json best;
  for (const json& time : measured["times"]) {
    if (time["what"] != what || (!best.is_null() && time["ms"] >= best["ms"])) continue;
    best = time;
    best["name"] = measured["name"];
  }
  return best;
}

json FastestPeer(const json& record, const char* what) {
  json best;
  for (size_t i = 1; i < record["measured"].size(); ++i) {
    if (record["measured"][i]["name"] == kEngineName) continue;
    const json one = Fastest(record["measured"][i], what);
    if (!one.is_null() && (best.is_null() || one["ms"] < best["ms"])) best = one;
  }
  return best;
}

// Where another algorithm than the plan's is faster by more than the noise.
std::string ChoiceText(const json& engine) {
  constexpr double kNoise = 1.05;
  std::string text;
  for (const auto& [part, chosen] : engine["facts"]["chosen"].items()) {
    const json best = Fastest(engine, part.c_str());
    for (const json& time : engine["times"]) {
      if (time["what"] != part || time["way"] != chosen || time["ms"] <= kNoise * best["ms"].get<double>()) continue;
      text += "; " + part + " by " + best["way"].get<std::string>() +
              Format(" would take %.2f of the time of ", best["ms"].get<double>() / time["ms"].get<double>()) +
              chosen.get<std::string>();
    }
  }
  return text;
}

std::string PartText(const json& record, const char* what) {
  const json canopy = Fastest(record["measured"][0], what), peer = FastestPeer(record, what);
  if (canopy.is_null()) return "";
  const json& bound = record["bounds"][what];
  const double ms = canopy["ms"];
  std::string text = Format("%s %.4g ms %.0f%% of peak %.0f%% of bound", what, ms,
                            100 * bound["flops"].get<double>() * 1e-6 / ms / record["peak_gflops"].get<double>(),
                            100 * bound["ms"].get<double>() / ms);
  if (peer.is_null()) return text;
  return text + Format(", x%.2f of %s %s", peer["ms"].get<double>() / ms, peer["name"].get<std::string>().c_str(),
                       peer["way"].get<std::string>().c_str());
}

}  // namespace

json RecordOf(const BenchCase& a_case, const CaseResult& result, const Ground& ground) {
  json measured = json::array();
  for (const Measured& one : result.measured) {
    measured.push_back({{"name", one.name},
                        {"refusal", one.refusal},
                        {"facts", one.facts},
                        {"times", TimesOf(one)},
                        {"differences", one.differences},
                        {"wrong", one.wrong}});
  }
  return {{"list", a_case.list},
          {"name", a_case.name},
          {"class", a_case.class_name},
          {"type", a_case.type},
          {"text", conv::FormatCall(a_case.call)},
          {"count", a_case.times},
          {"threads", ground.threads},
          {"peak_gflops", result.peak_gflops},
          {"exchange_ns", result.exchange_ns},
          {"tensor_bytes", TensorBytes(a_case.call)},
          {"bounds", BoundsOf(a_case.call, result.peak_gflops, ground.bandwidth)},
          {"measured", measured}};
}

std::string LineOf(const json& record) {
  std::string text = record["name"].get<std::string>() + " " + record["type"].get<std::string>() +
                     Format(" %dt", record["threads"].get<int>());
  const json& canopy = record["measured"][0];
  if (const std::string refusal = canopy["refusal"]; !refusal.empty()) return text + ": refused: " + refusal;
  for (const What what : kWhats) {
    const std::string part = PartText(record, WhatName(what));
    if (!part.empty()) text += (what == What::kCall ? ": " : "; ") + part;
  }
  if (record["exchange_ns"] > 0) text += Format("; cores %.0f ns apart", record["exchange_ns"].get<double>());
  const json& facts = canopy["facts"];
  text += Format("; %.2f MiB workspace; phase 1 %.1f us (%.1f new); ", facts["workspace_bytes"].get<double>() / kMiB,
                 facts["phase1_us"].get<double>(), facts["phase1_new_us"].get<double>()) +
          facts["algorithms"].get<std::string>();
  for (const json& peer : record["measured"]) {
    if (peer["name"] == kEngineName && peer["facts"].contains("chosen")) text += ChoiceText(peer);
    for (const json& way : peer["wrong"]) {
      const bool compared = peer["differences"].contains(way);
      text += "; " + peer["name"].get<std::string>() + " " + way.get<std::string>() + " left out, " +
              (compared ? Format("%.1e away", peer["differences"][way.get<std::string>()].get<double>()) : "it failed");
    }
  }
  return text;
}

}  // namespace canopy::bench
