import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { serve, type Service } from "../../src/runtime/serve.ts";

// One process that serves the same data several times, each with other measurements, and says what it takes of the processor.
// Two processes would differ by more than what is to be measured: by where their code and heap happen to lie.

const variants = JSON.parse(process.argv[2] ?? "{}") as Record<string, Record<string, string>>;
const clock = () => Date.now();
const urls: Record<string, string> = {};
const services: Service[] = [];
const resolveSystem = () => Promise.resolve("main");
for (const [name, env] of Object.entries(variants)) {
  const config = readConfig({ ...process.env, ...env }, process.cwd());
  const service = await serve({ config, clock, ids: createIds(clock), resolveSystem, role: "api", isForTrying: true });
  services.push(service);
  urls[name] = service.url ?? "";
}
let isClosing = false;
const close = async () => {
  if (isClosing) return;
  isClosing = true;
  for (const service of services.toReversed()) await service.close();
  process.exit();
};
process.once("SIGTERM", () => void close());
// The one that measures has ended.
process.once("disconnect", () => void close());
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.send?.(urls);
