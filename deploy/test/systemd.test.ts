import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isInstalled } from "./proxies.ts";

const directory = join(import.meta.dirname, "../systemd");
const units = readdirSync(directory).filter((name) => name.endsWith(".service"));
const read = (name: string) => readFileSync(join(directory, name), "utf8");
const isHere = isInstalled("systemd-analyze");

/** What `systemd-analyze security` may find, in tenths: 0 is the safest, 100 no protection. */
const MAX_SCORE = 15;

describe("the systemd units", () => {
  it("have the same restrictions each, and stop in the order that the service needs", () => {
    const restrictions = units.map((name) => /\n# Its own account[^]*?\n\n\[Install\]/.exec(read(name))?.[0]);
    expect(units).toHaveLength(3);
    expect(restrictions[0]).toContain("ProtectSystem=strict");
    expect(new Set(restrictions).size).toBe(1);
    for (const name of units) {
      // With another mode, systemd would stop PostgreSQL while requests are still running.
      expect(read(name)).toContain("KillMode=mixed");
      expect(Number(/TimeoutStopSec=(\d+)/.exec(read(name))?.[1])).toBeGreaterThan(25);
    }
  });

  it.skipIf(!isHere)(
    `are valid, and protected as systemd itself scores it${isHere ? "" : " (skipped: systemd-analyze is not installed)"}`,
    () => {
      const copies = mkdtempSync(join(tmpdir(), "bikeshare-units-"));
      const env = { PATH: process.env["PATH"], SYSTEMD_LOG_LEVEL: "warning" };
      for (const name of units) {
        const file = join(copies, name);
        // Replaces the path of the program, which is not installed on the machine of the test.
        writeFileSync(file, read(name).replaceAll("/opt/bikeshare/current/node_modules/.bin/node", process.execPath));
        execFileSync("systemd-analyze", ["verify", "--man=no", file], { env, stdio: "pipe" });
        const options = ["security", "--offline=true", `--threshold=${MAX_SCORE}`, "--no-pager", file];
        execFileSync("systemd-analyze", options, { env, stdio: "pipe" });
      }
      rmSync(copies, { recursive: true });
    },
  );
});
