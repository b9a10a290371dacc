import type { sandboxContract } from "@bikeshare/contract/sandbox";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { CommandContext } from "../command-context.ts";
import { callerOf, partnerOf } from "../http/authenticate.ts";
import { advanceClock, clockOf } from "./clock.ts";
import { addFault, endFaults, setWebhookFaults, takeFault } from "./faults.ts";
import { playScenario } from "./scenarios.ts";
import { noteSandboxUse, resetSandbox, statusOf, triggerEvent } from "./service.ts";

type Routes = RouterImplementation<typeof sandboxContract>;

/** Returns the sandbox that a request is for, and records its use. */
type SandboxIn = (request: FastifyRequest) => Promise<ReturnType<typeof partnerOf>>;

/** The endpoints of sandboxes. */
export function sandboxRoutes(context: CommandContext): Routes {
  const sandboxIn: SandboxIn = async (request) => {
    const sandbox = partnerOf(request);
    await noteSandboxUse(context, sandbox.systemId);
    return sandbox;
  };
  return { ...cityRoutes(context, sandboxIn), ...faultRoutes(context, sandboxIn) };
}

type FaultRoutes = Pick<Routes, "addFault" | "endFaults" | "setWebhookFaults">;

function cityRoutes(context: CommandContext, sandboxIn: SandboxIn): Omit<Routes, keyof FaultRoutes> {
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
    scenario: async ({ params: { name }, request }) => {
      const sandbox = await sandboxIn(request);
      const actor = `key:${callerOf(request).key.id}`;
      return { status: 200, body: await playScenario({ ...context, actor }, sandbox, name) };
    },
    trigger: async ({ params: { name }, body, request }) => {
      const sandbox = await sandboxIn(request);
      return { status: 200, body: await triggerEvent(context, sandbox, name, body.station_id) };
    },
  };
}

function faultRoutes(context: CommandContext, sandboxIn: SandboxIn): FaultRoutes {
  return {
    addFault: async ({ body, request }) => {
      const { systemId } = await sandboxIn(request);
      return { status: 200, body: { faults: await addFault(context, systemId, body) } };
    },
    endFaults: async ({ request }) => {
      const { systemId } = await sandboxIn(request);
      await endFaults(context, systemId);
      return { status: 200, body: { faults: [] } };
    },
    setWebhookFaults: async ({ body, request }) => {
      const { systemId } = await sandboxIn(request);
      await setWebhookFaults(context, systemId, body);
      return { status: 200, body };
    },
  };
}

/** `Retry-After` of the simulated 429 and 503. */
const RETRY_AFTER_SECONDS = 2;
/** Milliseconds after which a request that meets the fault `timeout` is disconnected. */
const TIMEOUT_MS = 30_000;

/**
 * Makes requests to a sandbox fail as its partner has asked. Register it before the routes. Other requests cost nothing: the
 * key tells whether its sandbox has faults.
 */
export function simulateFaults(app: FastifyInstance, context: CommandContext): void {
  app.addHook("preHandler", (request, reply, done) => {
    const { caller, routeOptions } = request;
    if (caller?.key.has_faults !== true || !routeOptions.url?.startsWith("/v1/")) {
      done();
      return;
    }
    const proceedUnless = (isLeftUnanswered: boolean) => {
      if (!isLeftUnanswered) done();
    };
    simulateFault(context, request, reply).then(proceedUnless, done);
  });
}

/**
 * Lets a request meet a fault, if there is one for it.
 * @returns whether the request gets no answer: its connection is closed after `TIMEOUT_MS`
 * @throws ServiceError the simulated error
 */
async function simulateFault(context: CommandContext, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  const { systemId } = partnerOf(request);
  const fault = await takeFault(context, systemId, `${request.method} ${request.routeOptions.url ?? ""}`);
  switch (fault?.status) {
    case undefined:
      return false;
    case 429:
      throw serviceError("rate_limited", "sandbox", { retryAfterSeconds: RETRY_AFTER_SECONDS });
    case 503:
      throw serviceError("unavailable", "sandbox", { retryAfterSeconds: RETRY_AFTER_SECONDS });
    case 500:
      throw serviceError("internal");
    case "timeout":
      leaveUnanswered(reply, TIMEOUT_MS);
      return true;
  }
}

/** Never answers a request, and closes its connection after a time. */
export function leaveUnanswered(reply: FastifyReply, timeoutMs: number): void {
  reply.hijack();
  const giveUp = setTimeout(() => reply.raw.destroy(), timeoutMs);
  // Listens to the response: a request counts as closed as soon as its body has been read.
  reply.raw.once("close", () => clearTimeout(giveUp));
}
