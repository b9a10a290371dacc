import { expect, it } from "vitest";
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
