import { parseArgs } from "node:util";
import { boundsBroken, describeReport } from "./chaos/report.ts";
import { runChaos } from "./chaos/run.ts";
import { inDirectory } from "./processes.ts";

/*
 * Runs the whole service on this machine: HAProxy, three API processes, two workers, Redis, and PostgreSQL with a standby.
 * Under a load of half its capacity, one component after the other but HAProxy is killed. No acknowledged change may be
 * lost, every event must reach its receivers, and callers may see only few and short failures.
 *
 *   pnpm bench chaos                       # 10 minutes, one kill every 10 s
 *   pnpm bench chaos --seconds 60 --json
 *   pnpm bench chaos --rolling --balancer nginx --seconds 60   # graceful restarts: not one request may fail
 *
 * The exit status is 1 if a limit was exceeded.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "600" },
    "kill-every": { type: "string", default: "10" },
    // Requests a second. Default: half the capacity.
    rate: { type: "string" },
    balancer: { type: "string", default: "haproxy" },
    // Stops processes of the service gracefully and starts them again, one after the other, instead of killing
    // components.
    rolling: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});

const interrupted = new Promise<never>((_resolve, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => reject(new Error(`ended by ${signal}`)));
});
// Handles the rejection also before `runChaos` awaits it. Otherwise Node.js would end the process without cleaning up.
interrupted.catch(() => undefined);
const from = performance.now();
const progress = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - from) / 1_000)} s: ${line}\n`);
try {
  progress(`seed ${values.seed}`);
  const report = await inDirectory((directory) =>
    runChaos({
      directory,
      seconds: Number(values.seconds),
      killEverySeconds: Number(values["kill-every"]),
      ...(values.rate !== undefined && { rate: Number(values.rate) }),
      seed: Number(values.seed),
      balancer: values.balancer === "nginx" ? "nginx" : "haproxy",
      isRolling: values.rolling,
      interrupted,
      onProgress: progress,
    }),
  );
  const broken = boundsBroken(report);
  process.stdout.write(values.json ? `${JSON.stringify({ ...report, broken })}\n` : describeReport(report));
  for (const line of broken) process.stdout.write(`BROKEN: ${line}\n`);
  if (broken.length === 0) process.stdout.write("HOLDS\n");
  process.exitCode = broken.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
// Exits explicitly, because clients that still wait for a response would keep the process alive.
process.exit();
