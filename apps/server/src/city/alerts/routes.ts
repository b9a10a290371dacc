import type { operatorContract, partnerContract } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import { idPosition } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import { getAlert, listOperatorsAlerts, listPartnersAlerts } from "./service.ts";

type AlertContext = ReadContext & { readonly clock: () => number };

/**
 * Routes of alerts. Nothing is cached, because few alerts are open at once. The reads take turns with those of filtered
 * lists (`FilteredReads`), so that they cannot delay other requests.
 */
export function alertRoutes(
  { filtered, clock }: AlertContext,
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["alerts"]> {
  return {
    list: listEndpoint(cursors, {
      name: "alerts",
      position: idPosition,
      read: (request, _filters: object, page) => {
        const partner = partnerOf(request);
        return filtered.read(partner, (db) => listPartnersAlerts(db, partner.systemId, new Date(clock()), page));
      },
    }),
    get: async ({ params: { id }, request }) => {
      const partner = partnerOf(request);
      const alert = await filtered.read(partner, (db) => getAlert(db, partner.systemId, id, new Date(clock())));
      if (alert === undefined) throw serviceError("not_found", "alert");
      return { status: 200, body: alert };
    },
  };
}

/** Returns the handler of the operator's list of alerts. */
export function operatorAlertList(
  { filtered, clock }: AlertContext,
  cursors: CursorCipher,
): RouterImplementation<(typeof operatorContract)["alerts"]>["list"] {
  return listEndpoint(cursors, {
    name: "operator's alerts",
    position: idPosition,
    read: (request, { status }: { readonly status?: "open" | "ended" | undefined }, page) => {
      const { system_id: systemId } = callerOf(request).key;
      // All of the operator's reads take turns as those of one reader, which is no partner.
      return filtered.read({ systemId, partnerId: "" }, (db) =>
        listOperatorsAlerts(db, systemId, { status: status ?? "all", now: new Date(clock()) }, page),
      );
    },
  });
}
