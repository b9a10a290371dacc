import { serviceError } from "@bikeshare/rules";
import { isSandbox } from "../partners/keys/service.ts";
import { activeFaults, latestHappenings } from "../sandbox/activity.ts";
import { advanceClock, clockOf } from "../sandbox/clock.ts";
import { addFault, endFaults, setWebhookFaults } from "../sandbox/faults.ts";
import { playScenario } from "../sandbox/scenarios.ts";
import {
  createSandbox,
  noteSandboxUse,
  resetSandbox,
  statusOf,
  systemOfSandbox,
  triggerEvent,
} from "../sandbox/service.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { type ConsoleRequest, consoleSession, partnerCaller, requireConfirmed } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { deliveryJson } from "./delivery-json.ts";

/*
 * Routes of a sandbox: a partner's own system with a simulated city, to test an integration against. The pages of the live
 * system call `create`, pages of both systems call `show`, and only those of the sandbox call the other routes.
 */

type Routes = ConsoleRoutes["partnerSandbox"];
type FaultVerb = "addFault" | "endFaults" | "setWebhookFaults";
type PlayVerb = "play" | "trigger" | "advance" | "reset";

/** Routes of a partner's sandbox, for the partner's live pages and for the sandbox's own pages. */
export function partnerSandboxRoutes(context: ConsoleContext): Routes {
  return {
    show: async ({ request }) => {
      const systemId = await systemOfSandbox(context, partnerCaller(request));
      if (systemId === undefined) return { status: 200, body: { sandbox: null } };
      await noteSandboxUse(context, systemId);
      return { status: 200, body: { sandbox: await statusOf(context, systemId) } };
    },
    create: async ({ request }) => {
      const { actor, ...partner } = partnerCaller(request);
      const { sandbox } = await createSandbox({ ...context, actor }, partner);
      return { status: 200, body: await statusOf(context, sandbox.system_id) };
    },
    activity: async ({ request }) => {
      const scope = await sandboxOf(context, request);
      const [sandbox, clock, active, happenings] = await Promise.all([
        statusOf(context, scope.systemId),
        clockOf(context, scope.systemId),
        activeFaults(context, scope.systemId),
        latestHappenings(context, scope),
      ]);
      const sent = happenings.map((one) => ({ ...one, deliveries: one.deliveries.map(deliveryJson) }));
      return { status: 200, body: { sandbox, clock, ...active, happenings: sent } };
    },
    ...playRoutes(context),
    ...faultRoutes(context),
  };
}

/**
 * Returns the caller of a sandbox's page, and records that the sandbox is in use.
 * @throws ServiceError `not_found` when the page's system is not a sandbox
 */
async function sandboxOf(context: ConsoleContext, request: ConsoleRequest) {
  const caller = partnerCaller(request);
  if (!(await isSandbox(context.db, caller.systemId))) throw serviceError("not_found", "page");
  await noteSandboxUse(context, caller.systemId);
  return caller;
}

/** Routes that make something happen in a sandbox, move its clock, or begin it anew. */
function playRoutes(context: ConsoleContext): Pick<Routes, PlayVerb> {
  return {
    play: async ({ params: { name }, request }) => {
      const { actor, systemId, partnerId } = await sandboxOf(context, request);
      // This scenario shows a key, so it needs a confirmation as the page of keys does.
      if (name === "key-expires") requireConfirmed(consoleSession(request), context.clock());
      return { status: 200, body: await playScenario({ ...context, actor }, { systemId, partnerId }, name) };
    },
    trigger: async ({ params: { name }, body, request }) => {
      const sandbox = await sandboxOf(context, request);
      return { status: 200, body: await triggerEvent(context, sandbox, name, body.station_id) };
    },
    advance: async ({ body: { seconds }, request }) => {
      const { systemId } = await sandboxOf(context, request);
      await advanceClock(context, systemId, seconds);
      return { status: 200, body: await clockOf(context, systemId) };
    },
    reset: async ({ request }) => {
      const { systemId } = await sandboxOf(context, request);
      await resetSandbox(context, systemId);
      return { status: 200, body: await statusOf(context, systemId) };
    },
  };
}

/** Routes that set and end faults: of the sandbox's answers to requests, and of its webhooks. */
function faultRoutes(context: ConsoleContext): Pick<Routes, FaultVerb> {
  return {
    addFault: async ({ body, request }) => {
      const { systemId } = await sandboxOf(context, request);
      return { status: 200, body: { faults: await addFault(context, systemId, body) } };
    },
    endFaults: async ({ request }) => {
      const { systemId } = await sandboxOf(context, request);
      await endFaults(context, systemId);
      return { status: 200, body: { faults: [] } };
    },
    setWebhookFaults: async ({ body, request }) => {
      const { systemId } = await sandboxOf(context, request);
      await setWebhookFaults(context, systemId, body);
      return { status: 200, body };
    },
  };
}
