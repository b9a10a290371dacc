import type { sandboxContract } from "@bikeshare/contract/sandbox";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../command-context.ts";
import { partnerOf } from "../http/authenticate.ts";
import { advanceClock, clockOf } from "./clock.ts";
import { noteSandboxUse, resetSandbox, statusOf, triggerEvent } from "./service.ts";

/** The endpoints of sandboxes. */
export function sandboxRoutes(context: CommandContext): RouterImplementation<typeof sandboxContract> {
  const sandboxIn = async (request: FastifyRequest) => {
    const sandbox = partnerOf(request);
    await noteSandboxUse(context, sandbox.systemId);
    return sandbox;
  };
  return {
    show: async ({ request }) => {
      const { systemId } = await sandboxIn(request);
      return { status: 200, body: await statusOf(context, systemId) };
    },
    reset: async ({ body, request }) => {
      const { systemId } = await sandboxIn(request);
      await resetSandbox(context, systemId, body.seed);
      return { status: 200, body: await statusOf(context, systemId) };
    },
    clock: async ({ request }) => {
      const { systemId } = await sandboxIn(request);
      return { status: 200, body: await clockOf(context, systemId) };
    },
    advance: async ({ body, request }) => {
      const { systemId } = await sandboxIn(request);
      await advanceClock(context, systemId, body.seconds);
      return { status: 202, body: await clockOf(context, systemId) };
    },
    trigger: async ({ params: { name }, body, request }) => {
      const sandbox = await sandboxIn(request);
      return { status: 200, body: await triggerEvent(context, sandbox, name, body.station_id) };
    },
  };
}
