import type { FastifyInstance } from "fastify";
import { serviceError } from "../errors/service-error.ts";
import { sendError } from "./errors.ts";

/** Answers paths that do not exist (404) and methods that a path does not take (405, with `Allow`). */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const methodsByPattern = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook("onRoute", ({ url, method }) => {
    const entry = methodsByPattern.get(url) ?? { pattern: toPattern(url), methods: new Set<string>() };
    for (const name of Array.isArray(method) ? method : [method]) entry.methods.add(name);
    methodsByPattern.set(url, entry);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "";
    const entry = [...methodsByPattern.values()].find(({ pattern }) => pattern.test(path));
    if (entry === undefined) {
      return sendError(reply, request, serviceError("not_found", "path"));
    }
    const allow = [...entry.methods].sort().join(", ");
    const values = { method: request.method, allowed: allow };
    return sendError(reply, request, serviceError("method_not_allowed", "allowed", values, { headers: { allow } }));
  });
}

function toPattern(url: string): RegExp {
  const path = url.split("/").map(partPattern).join("/");
  return new RegExp(`^${path}$`);
}

function partPattern(part: string): string {
  if (part.startsWith(":")) return "[^/]+";
  return part === "*" ? ".*" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
