import { serviceError } from "@bikeshare/rules";
import { isSandbox } from "../partners/keys/service.ts";
import { playScenario } from "../sandbox/scenarios.ts";
import {
  createSandbox,
  noteSandboxUse,
  requireRoom,
  resetSandbox,
  statusOf,
  systemOfSandbox,
} from "../sandbox/service.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { type ConsoleRequest, partnerCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

/** A partner's sandbox, on the partner's pages and on its own. */
export function partnerSandboxRoutes(context: ConsoleContext): ConsoleRoutes["partnerSandbox"] {
  /** @throws ServiceError `not_found` on the pages of live data */
  const sandboxIn = async (request: ConsoleRequest) => {
    const caller = partnerCaller(request);
    if (!(await isSandbox(context.db, caller.systemId))) throw serviceError("not_found", "page");
    await noteSandboxUse(context, caller.systemId);
    return caller;
  };
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
    play: async ({ params: { name }, request }) => {
      const { actor, systemId, partnerId } = await sandboxIn(request);
      await requireRoom(context, systemId);
      const { scenario, steps } = await playScenario({ ...context, actor }, { systemId, partnerId }, name);
      return { status: 200, body: { scenario, steps } };
    },
    reset: async ({ request }) => {
      const { systemId } = await sandboxIn(request);
      await resetSandbox(context, systemId);
      return { status: 200, body: await statusOf(context, systemId) };
    },
  };
}
