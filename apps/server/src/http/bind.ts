import type { AppRouter } from "@ts-rest/core";
import { initServer, type RequestValidationError, type RouterImplementation } from "@ts-rest/fastify";
import type { FastifyInstance } from "fastify";
import type { ZodError, ZodIssue } from "zod";
import { ApiError } from "./api-error.ts";
import { sendError } from "./errors.ts";

const server = initServer();

/**
 * Binds a contract's endpoints to their handlers. The one place, beside the types of the handlers, that knows
 * ts-rest. It sets an error handler of its own, so it gets a scope of its own.
 */
export function bindContract<Contract extends AppRouter>(
  app: FastifyInstance,
  contract: Contract,
  routes: RouterImplementation<Contract>,
): void {
  app.register((scope, _options, done) => {
    server.registerRouter(contract, routes, scope, {
      logInitialization: false,
      jsonQuery: false,
      responseValidation: false,
      requestValidationErrorHandler: (error, request, reply) => {
        sendError(reply, request, toApiError(error));
      },
    });
    done();
  });
}

/**
 * A body that is in its wire form already, typed as what it holds: ts-rest passes a text through untouched. The
 * tests hold every such body against the contract's schema.
 */
export function wireBody<Body>(json: string): Body {
  return json as unknown as Body;
}

function toApiError(error: RequestValidationError): ApiError {
  if (error.pathParams !== null)
    return new ApiError(
      "not_found",
      `There is no such resource: the identifier in the path ${firstMessage(error.pathParams)}.`,
    );
  if (error.query !== null) return new ApiError("invalid_parameter", `${error.query.issues.map(describe).join("; ")}.`);
  if (error.headers !== null)
    return new ApiError("invalid_parameter", `${error.headers.issues.map(describe).join("; ")}.`);
  return new ApiError("invalid_parameter", `${(error.body?.issues ?? []).map(describe).join("; ")}.`);
}

function firstMessage(error: ZodError): string {
  return error.issues[0]?.message ?? "is not possible";
}

/** Names the parameter, the value's fault and the bound. */
function describe(issue: ZodIssue): string {
  const name = issue.path.join(".");
  switch (issue.code) {
    case "unrecognized_keys":
      return `${issue.keys.join(", ")} ${issue.keys.length === 1 ? "is no parameter" : "are no parameters"} of this endpoint`;
    case "invalid_enum_value":
      return `${name} must be one of ${issue.options.join(", ")}`;
    default:
      return `${name} ${issue.message}`;
  }
}
