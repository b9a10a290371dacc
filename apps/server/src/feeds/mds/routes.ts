import { MDS_MEDIA_TYPE, MDS_REPORT_MEDIA_TYPE, MDS_SCOPE, type mdsContract } from "@bikeshare/contract/mds";
import { serviceError } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyInstance } from "fastify";
import { basicText, callerOf, endpointOf, partnerOf } from "../../http/authenticate.ts";
import { answerAnyHour, answerHour } from "./hour-routes.ts";
import { type LiveContext, liveRoutes } from "./live-routes.ts";
import { eventRecords, pointRecord, tripRecord } from "./records.rules.ts";
import { reportText } from "./report.rules.ts";
import { reportOf } from "./reports.ts";
import { agencyOf, eventsOfHour, recordRead, telemetryOfHour, tripsOfHour } from "./service.ts";
import { type AgencyTokens, TOKEN_SECONDS } from "./tokens.ts";

export { hourPlaces } from "./hour-routes.ts";

/** The dependencies of the routes of MDS. */
export interface MdsContext extends LiveContext {
  readonly tokens: AgencyTokens;
}

/** The path of monthly reports, which have another media type than the rest of MDS. */
const REPORT_PATH = "/mds/reports/:file";

/** Maximum bytes of a form with credentials. */
const MAX_FORM_BYTES = 8 * 1024;

/** Prepares a part of the server for MDS: parses forms with credentials, and checks the version that requests accept. */
export function prepareForMds(app: FastifyInstance): void {
  sendExactType(app);
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string", bodyLimit: MAX_FORM_BYTES },
    (_request, text, done) => done(null, Object.fromEntries(new URLSearchParams(String(text)))),
  );
  app.addHook("onRequest", (request, _reply, done) => {
    // Only the endpoints of MDS itself have versions; the one that issues tokens has none.
    const isVersioned = endpointOf(request).scope === MDS_SCOPE;
    const type = request.routeOptions.url === REPORT_PATH ? MDS_REPORT_MEDIA_TYPE : MDS_MEDIA_TYPE;
    done(isVersioned && !accepts(request.headers.accept, type) ? serviceError("not_acceptable") : undefined);
  });
}

/** Sends the exact content type of MDS. Fastify would add a charset to it and write it in another form. */
function sendExactType(app: FastifyInstance): void {
  app.addHook("onSend", (_request, reply, payload, done) => {
    const type = String(reply.getHeader("content-type"));
    const exact = [MDS_MEDIA_TYPE, MDS_REPORT_MEDIA_TYPE].find((each) => type.startsWith(nameOf(each)));
    if (exact !== undefined) reply.header("content-type", exact);
    done(null, payload);
  });
}

/** Returns a media type without its parameters. */
function nameOf(type: string): string {
  return type.split(";")[0] ?? "";
}

/**
 * Tells whether an `Accept` header names a media type in the version that is served. A media type without a version means an
 * older version.
 */
function accepts(accept: string | undefined, wanted: string): boolean {
  return (accept ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === nameOf(wanted) && parameters.some((parameter) => /^version="?2\.0"?$/.test(parameter));
  });
}

/** The routes of the Provider API. */
export function mdsRoutes(context: MdsContext): RouterImplementation<typeof mdsContract> {
  return {
    token: async ({ body, request, reply }) => {
      reply.header("cache-control", "no-store");
      return tokenAnswer(await judgeCredentials(body, request.headers.authorization, context.tokens));
    },
    ...liveRoutes(context),
    trips: async ({ query: { end_time: hour }, request, reply }) =>
      answerHour(context, { request, reply }, hour, {
        path: "/mds/trips",
        list: "trips",
        open: (agency) => tripsOfHour(context, agency, hour),
        records: (row, agency) => listed(tripRecord(row, agency)),
      }),
    historicalEvents: async ({ query: { event_time: hour }, request, reply }) =>
      answerHour(context, { request, reply }, hour, {
        path: "/mds/events/historical",
        list: "events",
        open: (agency) => eventsOfHour(context, agency, hour),
        records: eventRecords,
      }),
    telemetry: async ({ query: { telemetry_time: hour }, request, reply }) =>
      answerAnyHour(context, { request, reply }, hour, {
        path: "/mds/telemetry",
        list: "telemetry",
        open: (agency) => telemetryOfHour(context, agency, hour),
        records: (row, agency) => listed(pointRecord(row, agency)),
      }),
    report: async ({ params: { file }, request, reply }) => {
      const agency = await agencyOf(context, partnerOf(request));
      const report = await reportOf(context, agency, file);
      await recordRead(context, agency, callerOf(request).key.id, { endpoint: "/mds/reports", month: report.month });
      reply.header("content-type", MDS_REPORT_MEDIA_TYPE);
      return { status: 200 as const, body: reportText(report, agency) };
    },
  };
}

/** Returns a list of the record; empty when the agency may not see it. */
function listed<Record>(record: Record | undefined): readonly Record[] {
  return record === undefined ? [] : [record];
}

/** A token, or the error of RFC 6749 for the request. */
type TokenOutcome =
  | { readonly token: string }
  | { readonly error: "invalid_request" | "invalid_client" | "unsupported_grant_type"; readonly description: string };

/** Checks a request for a token by the rules of RFC 6749, and issues the token. */
async function judgeCredentials(
  form: Readonly<Record<string, unknown>>,
  authorization: string | undefined,
  tokens: AgencyTokens,
): Promise<TokenOutcome> {
  if (form["grant_type"] !== "client_credentials") {
    const isMissing = typeof form["grant_type"] !== "string";
    return {
      error: isMissing ? "invalid_request" : "unsupported_grant_type",
      description: "Send grant_type=client_credentials in the form.",
    };
  }
  const basic = authorization === undefined ? undefined : basicCredentials(authorization);
  const clientId = basic?.clientId ?? form["client_id"];
  const secret = basic?.secret ?? form["client_secret"];
  const isGiven = typeof clientId === "string" && typeof secret === "string";
  // The client id is the partner's id, and the secret is its API key.
  const token = isGiven ? await tokens.issue(clientId, secret) : undefined;
  if (token !== undefined) return { token };
  const description = "Send the agency's id as client_id and its key as client_secret, by HTTP Basic or in the form.";
  return { error: "invalid_client", description };
}

/** Returns the id and the secret of HTTP Basic; empty texts when the header has none. */
function basicCredentials(authorization: string): { readonly clientId: string; readonly secret: string } {
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(basicText(authorization) ?? "") ?? [];
  return { clientId: decoded(id ?? ""), secret: decoded(secret ?? "") };
}

/** Decodes a part of Basic credentials. RFC 6749 requires it to be encoded as in a form; many clients do not encode it. */
function decoded(text: string): string {
  // An `&` would begin another parameter. Many clients send it as it is.
  return new URLSearchParams(`x=${text.replaceAll("&", "%26")}`).get("x") ?? "";
}

/** Returns the response to a request for a token. */
function tokenAnswer(outcome: TokenOutcome) {
  if ("token" in outcome) {
    const { token } = outcome;
    const body = { access_token: token, token_type: "Bearer" as const, expires_in: TOKEN_SECONDS, scope: MDS_SCOPE };
    return { status: 200 as const, body };
  }
  const { error, description } = outcome;
  return {
    status: error === "invalid_client" ? (401 as const) : (400 as const),
    body: { error, error_description: description },
  };
}
