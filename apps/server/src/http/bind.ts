import { type ServiceError, serviceError } from "@bikeshare/rules";
import type { AppRouter } from "@ts-rest/core";
import { initServer, type RequestValidationError, type RouterImplementation } from "@ts-rest/fastify";
import type { FastifyInstance } from "fastify";
import type { ZodError } from "zod";
import { describeIssues, type Whole } from "../issues.ts";
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
        sendError(reply, request, toServiceError(error));
      },
    });
    done();
  });
}

/**
 * A body that is in its JSON already, typed as what it holds: ts-rest passes a text through untouched. The
 * tests hold every such body against the contract's schema.
 */
export function jsonBody<Body>(json: string): Body {
  return json as unknown as Body;
}

function toServiceError(error: RequestValidationError): ServiceError {
  if (error.pathParams !== null) return serviceError("not_found", "pathId", { issue: firstMessage(error.pathParams) });
  if (error.query !== null) return invalid(error.query, "query");
  if (error.headers !== null) return invalid(error.headers, "headers");
  return invalid(error.body, "body");
}

function invalid(error: ZodError | null, whole: Whole): ServiceError {
  return serviceError("invalid_parameter", "issues", { issues: describeIssues(error?.issues ?? [], whole) });
}

function firstMessage(error: ZodError): string {
  return error.issues[0]?.message ?? "is not possible";
}
