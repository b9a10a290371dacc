import type { FeedReport } from "@bikeshare/contract/console";
import { createTestClock } from "@bikeshare/test-kit";
import { expect, it } from "vitest";
import { openCliHarness } from "../../test/cli/cli.harness.ts";
import { registerGbfs } from "./gbfs.ts";
import { registerOpenApi } from "./run.ts";
import { localAddress } from "./serve.ts";

it("reaches a service from its own machine, wherever it listens", () => {
  const plain = (host: string) => localAddress({ host, port: 3000, tls: undefined });
  expect(plain("127.0.0.1")).toBe("http://127.0.0.1:3000");
  expect(plain("0.0.0.0")).toBe("http://127.0.0.1:3000");
  expect(plain("::")).toBe("http://[::1]:3000");
  expect(plain("fe80::1")).toBe("http://[fe80::1]:3000");
  expect(localAddress({ host: "bikes.example.com", port: 443, tls: { certFile: "", keyFile: "" } })).toBe(
    "https://bikes.example.com:443",
  );
});

it("without PUBLIC_URL, documents and checked feeds have this address, also over TLS and IPv6", async () => {
  const tls = { certFile: "", keyFile: "" };
  const harness = await openCliHarness({
    clock: createTestClock(),
    register: (program, cli) => {
      const configured = () => ({ ...cli(), config: { ...cli().config, host: "::1", tls } });
      registerOpenApi(program, configured);
      registerGbfs(program, configured);
    },
  });
  try {
    const { servers } = JSON.parse((await harness.run("openapi", "--json")).stdout) as { servers: unknown };
    expect(servers).toEqual([expect.objectContaining({ url: "https://[::1]:3000" })]);
    const report = JSON.parse((await harness.run("gbfs", "check", "own", "--json")).stdout) as FeedReport;
    const { address } = report.files.find(({ name }) => name === "station_status.json") ?? {};
    expect(address).toBe("https://[::1]:3000/gbfs/main/3.0/station_status.json");
  } finally {
    await harness.close();
  }
});
