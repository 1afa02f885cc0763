// SPDX-License-Identifier: Apache-2.0
#include "bench/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace canopy::bench {

using nlohmann::json;

void SetThreads(int threads) {
  const std::string text = std::to_string(threads);
  for (const char* name : {"CANOPY_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    setenv(name, text.c_str(), 1);
  }
}

Worker::Worker(int threads, const Child& child) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw WorkerFailure(std::string("no socket: ") + std::strerror(errno));
  }
  std::fflush(nullptr);
  process_ = fork();
  if (process_ < 0) throw WorkerFailure(std::string("no process: ") + std::strerror(errno));
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    SetThreads(threads);
    child(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  socket_ = ends[0];
  answers_ = fdopen(socket_, "r");
  name_ = Ask({{"do", "hello"}}).at("name");
}

Worker::~Worker() { Stop(); }

void Worker::Stop() {
  if (process_ < 0) return;
  if (answers_ != nullptr) fclose(answers_);
  answers_ = nullptr;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

json Worker::Ask(const json& question) {
  if (!alive()) throw WorkerFailure("its process is gone");
  const std::string text = question.dump() + "\n";
  char* line = nullptr;
  size_t room = 0;
  // A worker that has died must not take this process with it by a signal.
  const bool asked = send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  const bool answered = asked && getline(&line, &room, answers_) > 0;
  const std::string reply = answered ? line : "";
  std::free(line);
  if (!answered) {
    Stop();
    throw WorkerFailure("its process ended while it was asked to " + question.at("do").get<std::string>());
  }
  json answer = json::parse(reply, nullptr, false);
  if (!answer.is_object()) throw WorkerFailure("it answered " + reply.substr(0, 80));
  if (answer.contains("error")) throw WorkerFailure(answer["error"]);
  return answer;
}

}  // namespace canopy::bench
