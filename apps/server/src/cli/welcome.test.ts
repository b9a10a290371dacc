import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { type Started, welcome } from "./start.ts";

const started: Started = {
  url: "http://127.0.0.1:3000",
  dataDir: "/srv/city/.bikeshare",
  isDefaultDataDir: true,
  speed: 10,
  demo: {
    key: "bss_live_key",
    partnerId: "partner_1",
    signIn: {
      operator: "http://localhost:3000/dashboard/invitation#ciECsKxWuzC4AtvzgpjT6MzwjlTc5Kl1iZk5M6Z71jA",
      partner: "http://localhost:3000/dashboard/invitation#0sgYpHbYvQ8hY7bV0fVnTQb0T0nXvXq2zqk3wXo1b8E",
    },
  },
};

it("says where the service, its reference, its public feeds and its data are, and fits a terminal", () => {
  const text = welcome(started);
  for (const fact of [started.url, `${started.url}/docs`, `${started.url}/gbfs/2.3/gbfs.json`, "/srv/city/.bikeshare"])
    expect(text).toContain(fact);
  for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(120);
});

it("prints both links that sign in to the dashboard", () => {
  const lines = welcome(started).split("\n");
  for (const link of Object.values(started.demo?.signIn ?? {}))
    expect(lines.filter((line) => line.endsWith(` ${link}`))).toHaveLength(1);
});

it("names in each command the data that the service uses, whatever its folder is called", () => {
  const commands = (changes: Partial<Started>) =>
    welcome({ ...started, ...changes }).match(/^ {2}.*bikeshare webhooks.*/m);
  expect(commands({})?.[0]).toBe("  npx -y pnpm@12 bikeshare webhooks test --partner partner_1");
  const dataDir = "/tmp/it's here/$HOME";
  const [command = ""] = commands({ dataDir, isDefaultDataDir: false }) ?? [];
  const assignment = command.slice(0, command.indexOf(" npx"));
  expect(execFileSync("sh", ["-c", `${assignment.trim()}; printf %s "$DATA_DIR"`]).toString()).toBe(dataDir);
  expect(commands({ dataDir: undefined, isDefaultDataDir: false })?.[0]).toMatch(/^ {2}DATABASE_URL=… npx /);
});

it("shows no key and no ride where the data are not the demo's, and how to make a key", () => {
  const text = welcome({ ...started, demo: undefined });
  expect(text).not.toMatch(/bss_|made-up/);
  expect(text).toContain("partners create");
});
