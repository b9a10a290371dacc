import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { errors, needs, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";

const c = initContract();

/** A message of JSON-RPC 2.0 that answers another. */
const jsonRpcAnswer = z
  .object({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.number().int()]).optional(),
    result: z.object({}).passthrough().optional(),
    error: z.object({ code: z.number().int(), message: z.string(), data: z.unknown().optional() }).optional(),
  })
  .strict();

/** The body of a refused request. Errors of HTTP have the usual form; errors of the message have the form of JSON-RPC. */
const refused = z.union([errorBody, jsonRpcAnswer]);

/** The endpoint of the Model Context Protocol. AI agents call tools here, which are made from the partners' endpoints. */
export const mcpContract = c.router(
  {
    mcp: {
      post: {
        method: "POST",
        path: "/mcp",
        summary: "One message of the Model Context Protocol",
        metadata: needs("any"),
        query: noQuery,
        body: z.unknown(),
        responses: {
          ...errors,
          200: jsonRpcAnswer,
          // The message was a notification, which has no answer.
          202: z.undefined(),
          400: refused,
          404: jsonRpcAnswer,
          413: errorBody,
          415: errorBody,
        },
      },
    },
  },
  { strictStatusCodes: true },
);
