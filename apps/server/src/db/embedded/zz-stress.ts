import { openRoom, killPostmaster, query, answers, until } from "./embedded-room.fixture.ts";
const room = await openRoom({ enterable: true });
let seed = 7;
const rnd = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
const counts: Record<string, number> = {};
const bump = (k: string) => {
  counts[k] = (counts[k] ?? 0) + 1;
};
const end = performance.now() + 40_000;
const slot = async () => {
  while (performance.now() < end) {
    const t = performance.now();
    const starting = room.startUser();
    try {
      const user = await starting;
      bump("opened");
      await new Promise((r) => setTimeout(r, rnd() * 800));
      const x = rnd();
      if (x < 0.35) {
        await user.kill();
        bump("killed");
      } else {
        await user.close();
        bump("closed");
      }
    } catch (e) {
      bump("FAILED");
      console.log(String(e).slice(0, 3000));
    }
    if (performance.now() - t > 5000) bump("slow>5s");
  }
};
const reaper = async () => {
  while (performance.now() < end) {
    await new Promise((r) => setTimeout(r, rnd() * 500));
    if (
      await killPostmaster(await room.home().catch(() => undefined)).catch((e) => {
        console.log("kp", String(e));
        return undefined;
      })
    )
      bump("pgkilled");
  }
};
await Promise.all([slot(), slot(), slot(), reaper()]);
const last = await room.startUser();
const t = performance.now();
await killPostmaster(await room.home());
const k = performance.now();
await until(() => answers(last.connectionString));
console.log("back after ms", Math.round(performance.now() - k), k - t);
await last.close();
console.log(counts, "answers after last close:", await answers(last.connectionString));
await room.clear();
