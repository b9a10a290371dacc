import type { FastifyInstance } from "fastify";
import { ServiceError } from "../errors/service-error.ts";
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
      return sendError(
        reply,
        request,
        new ServiceError(
          "not_found",
          "There is no such path. /openapi.json lists those there are, /gbfs/3.0/gbfs.json the public feeds; /docs explains them.",
        ),
      );
    }
    const allow = [...entry.methods].sort().join(", ");
    const error = new ServiceError(
      "method_not_allowed",
      `${request.method} is not possible here; possible: ${allow}.`,
      {
        headers: { allow },
      },
    );
    return sendError(reply, request, error);
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
