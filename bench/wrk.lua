-- The tool calls of messages.ts. Environment: BENCH_PATH, BENCH_TOKEN, and BENCH_BODY with
-- "000000000" for the number of a call.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("id", threads)
end

local path = os.getenv("BENCH_PATH")
local headers = {
  ["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN"),
  ["Content-Type"] = "application/json",
}
local first, rest = os.getenv("BENCH_BODY"):match("^(.*)000000000(.*)$")
local calls = 0

function request()
  calls = calls + 1
  local number = string.format("%d%08d", id, calls)
  headers["Idempotency-Key"] = os.getenv("BENCH_RUN") .. number
  return wrk.format("POST", path, headers, first .. number .. rest)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    "\nRESULT %d %d %d %d %d\n",
    summary.requests,
    summary.duration,
    latency:percentile(50),
    latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
