import { DEFAULT_MAX_RESERVATIONS } from "@bikeshare/contract";
import type { ShownPartner } from "@bikeshare/contract/console";
import type { RideContext } from "../city/rides/service.ts";
import { commandError } from "../command-errors.ts";
import {
  createPartner,
  overviewOf,
  overviewsOf,
  type PartnerOverview,
  partnerStatus,
  setKeyAllowance,
  setPartner,
} from "../partners/service.ts";
import { removePartner, resumePartner, suspendPartner } from "../partners/suspend-or-remove.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest, partnerCaller } from "./authorize.ts";
import { type ConsoleContext, type LongReads, readerOf } from "./context.ts";

/** Routes of a system's partners, for the operator. */
export function partnerRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["partners"] {
  return {
    list: async ({ request }) => {
      // Reads of all partners may take long: `hold` admits one such read of a caller at a time.
      const partners = await longReads.hold(request, () => overviewsOf(context, consoleCaller(request).systemId));
      return { status: 200, body: { data: partners.map(shown) } };
    },
    get: async ({ params, request }) => ({ status: 200, body: await read(context, request, params.partner_id) }),
    create: async ({ body: { name, max_reservations: maxReservations }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const options = { maxReservations: maxReservations ?? undefined };
      const { id } = await createPartner({ ...context, actor }, systemId, name, options);
      return { status: 200, body: await read(context, request, id) };
    },
    set: async ({ params: { partner_id: id }, body, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const change = { name: body.name, maxReservations: body.max_reservations };
      await setPartner({ ...context, actor }, systemId, id, change);
      return { status: 200, body: await read(context, request, id) };
    },
    allowKeys: async ({ params: { partner_id: id }, body: { allowance }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      await setKeyAllowance({ ...context, actor }, systemId, id, allowance);
      return { status: 200, body: await read(context, request, id) };
    },
    ...statusRoutes(context),
  };
}

function statusRoutes(context: ConsoleContext): Pick<ConsoleRoutes["partners"], "suspend" | "resume" | "remove"> {
  return {
    suspend: async ({ params: { partner_id: id }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      await suspendPartner({ ...context, actor }, systemId, id);
      return { status: 200, body: await read(context, request, id) };
    },
    resume: async ({ params: { partner_id: id }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const { endpoints } = await resumePartner({ ...context, actor }, systemId, id);
      const partner = await read(context, request, id);
      // The delivery that is sent first shows whether a resumed endpoint works: its probe. An endpoint with nothing to send
      // has none yet. `held`: deliveries that wait until somebody sends or drops them.
      const probes = endpoints.flatMap(({ probe }) => probe ?? []);
      return { status: 200, body: { partner, probes, held: endpoints.reduce((sum, { held }) => sum + held, 0) } };
    },
    remove: async ({ params: { partner_id: id }, body, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const before = await read(context, request, id);
      // The person types the partner's name, so that nobody removes another partner by mistake.
      if (body.name !== before.name) throw commandError("invalid_parameter", "partnerNameMismatch", { id });
      const ended = await removePartner({ ...context, actor }, systemId, id);
      return { status: 200, body: { ...ended, partner: await read(context, request, id) } };
    },
  };
}

/** Returns a partner as the page shows it. @throws ServiceError when there is no such partner */
async function read(context: ConsoleContext, request: ConsoleRequest, id: string): Promise<Served<ShownPartner>> {
  const partner = await overviewOf(context, consoleCaller(request).systemId, id);
  if (partner === undefined) throw commandError("not_found", "partner", { id });
  return shown(partner);
}

function shown(partner: PartnerOverview): Served<ShownPartner> {
  const { max_reservations: own } = partner;
  return {
    ...partner,
    status: partnerStatus(partner),
    max_reservations: own ?? DEFAULT_MAX_RESERVATIONS,
    has_own_max_reservations: own !== null,
  };
}

/**
 * Routes of the data that an agency gets. Their modules are loaded with the first request, because they load the contract of
 * MDS. A report is a long read too: it waits in `filtered`, the queue of long reads.
 */
export function agencyRoutes(
  context: ConsoleContext,
  { filtered }: RideContext,
  longReads: LongReads,
): ConsoleRoutes["agency"] {
  return {
    get: async ({ request }) => {
      const { systemId, partnerId } = partnerCaller(request);
      const { viewAgency } = await import("../feeds/mds/agency-view.ts");
      const reads = { ...context, db: longReads.databaseFor(request) };
      return { status: 200, body: { agency: (await viewAgency(reads, systemId, partnerId)) ?? null } };
    },
    report: async ({ params: { file }, request, reply }) => {
      const { partnerId, actor } = partnerCaller(request);
      const { downloadReport } = await import("../feeds/mds/agency-view.ts");
      const whose = { ...readerOf(request), partnerId };
      const { month, text } = await downloadReport({ ...context, actor, filtered }, whose, file);
      reply.header("content-type", "text/csv; charset=utf-8");
      reply.header("content-disposition", `attachment; filename="${month}.csv"`);
      return { status: 200, body: text };
    },
  };
}
