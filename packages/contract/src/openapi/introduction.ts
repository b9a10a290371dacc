import { MAX_BATCH } from "../batch.ts";
import { errorCatalogue, errorCodes } from "../error-catalogue.ts";
import {
  DEFAULT_PAGE_SIZE,
  DEFAULT_RATE_LIMIT,
  EVENT_RETENTION_DAYS,
  IDEMPOTENCY_KEY_HOURS,
  MAX_IDENTIFIER_LENGTH,
  MAX_PAGE_SIZE,
  RATE_WINDOW_SECONDS,
} from "../limits.ts";
import { MDS_MEDIA_TYPE, MDS_REPORT_MEDIA_TYPE } from "../mds/words.ts";
import { scopes } from "../scopes.ts";
import { walks } from "./samples.ts";

/** Returns the introduction for a partner's engineers, in Markdown. */
export function introduction(baseUrl: string): string {
  return [
    start(baseUrl),
    keys(),
    paging(baseUrl),
    rateLimit(),
    errors(),
    repeating("reservation"),
    followingChanges(),
    catchingUp(),
    webhooks(),
    values(),
    versions(),
  ].join("\n\n");
}

function start(baseUrl: string): string {
  return `Stations, rides, bikes and reservations of a bike-sharing system, as JSON over HTTPS. Your first request:

\`\`\`sh
curl -H "Authorization: Bearer $API_KEY" \\
  ${baseUrl}/v1/stations
\`\`\`

\`GET /v1/me\` tells what your key may do. Every \`GET\` also answers \`HEAD\`: the same status and headers, no body.`;
}

function keys(): string {
  const rows = Object.entries(scopes).map(([scope, use]) => `- \`${scope}\`: ${use}`);
  return `## Keys and scopes

Send your key with every request in the header \`Authorization: Bearer <API_KEY>\`: the word, one space, the key. There are no sessions. Your first key comes from the operator; in the dashboard, on the page Keys, your admins create more, if the operator allows it. Never put one in a URL and never send one over plain HTTP: it then is marked as compromised.

A key carries scopes; each endpoint below names the one it needs. No key or a wrong one is 401, a key without the scope is 403. A scope lets the key do this:

${rows.join("\n")}`;
}

function paging(baseUrl: string): string {
  return `## Paging, both ways

Lists come in pages of ${DEFAULT_PAGE_SIZE} items; \`limit\` asks for others, up to ${MAX_PAGE_SIZE} (more gives ${MAX_PAGE_SIZE}). The first page, asked for with neither \`page\` nor \`cursor\`, carries \`page\`, \`total_pages\` and \`next_cursor\`, so you can go on either way:

- **By cursor**, to read everything: copy \`next_cursor\` unchanged into \`cursor\`, until an answer has none. Whatever is inserted, changed or deleted meanwhile, each item that was there throughout comes exactly once. Never build or read a cursor: its form may change without warning. You may keep one to finish a walk that was interrupted; when it is answered with \`invalid_cursor\`, begin the walk again. To follow what is new, use \`/v1/events\` or [\`changes_since\`](#following-changes). Keep the filters as they were (\`after\` too); \`limit\` may change.
- **By number**, to jump: \`page\` counts from 1 up to \`total_pages\`. When the list changes between two requests, numbered pages can repeat or skip items. An empty list has one page. A page beyond the last is 400 \`page_out_of_range\`, also where the list has become shorter since you asked for the page before.

\`page\` and \`cursor\` exclude each other. The programs below print every ride, one a line. At 429 and 503 they wait as long as \`Retry-After\` says; any other failure ends them with an error, so that a list that was cut off is never taken for a whole one.

${walks(baseUrl)
  .map(({ language, program }) => `\`\`\`${language}\n${program}\n\`\`\``)
  .join("\n\n")}`;
}

function rateLimit(): string {
  return `## The rate limit

A key may make ${DEFAULT_RATE_LIMIT} requests in any ${RATE_WINDOW_SECONDS} seconds, unless it was given a number of its own; each page is one request. Read it rather than guess it: every answer to a key carries

- \`RateLimit-Policy: "default";q=${DEFAULT_RATE_LIMIT};w=${RATE_WINDOW_SECONDS}\`: the limit, \`q\` requests in any \`w\` seconds;
- \`RateLimit: "default";r=12;t=8\`: \`r\` requests are left, and one more is allowed in \`t\` seconds.

At \`r=0\` wait. A request too many is 429 with \`Retry-After\` in seconds. Large pages, \`changes_since\` and \`If-None-Match\` save bytes and requests (a 304 counts as one).`;
}

function errors(): string {
  return `## Errors

Every error has the same body: \`error\`, a code from this list for your program, and \`message\`, plain words for you. Decide by status and code, never by the message's words. New codes may be added: treat one you do not know as its status says.

${errorsList()}

Each answer carries a \`Request-Id\`; tell it when you ask the operator for help.`;
}

/** Returns a text about making a request safe to repeat. */
function repeating(what: "reservation" | "batch"): string {
  return `## Repeating a request safely

When an answer is lost you cannot know whether the ${what} was made${what === "reservation" ? " or extended" : ""}. Send each POST${what === "reservation" ? " and each PATCH" : ""} with an \`Idempotency-Key\`, a new random text such as a UUID, and repeat it with the same key and the same body: it is done once, and every repeat within ${IDEMPOTENCY_KEY_HOURS} hours gets the first answer, with \`Idempotent-Replayed: true\`. The same key with another body is 422; while the first is still running, 409.`;
}

function followingChanges(): string {
  return `## Following changes

To keep a copy of stations, rides, bikes or reservations, walk the list by cursor once, with \`updated_since=1970-01-01T00:00:00Z\` for all of it. The last page has a \`checkpoint\`. Send it as \`changes_since\` to get what has changed since, each item as it is now, in the order of the changes; follow \`next_cursor\` beside the same \`changes_since\`, and keep the \`checkpoint\` of the last page for the next time.

- **Nothing is left out**, whatever changes meanwhile, however long a change takes to be committed, and whosever clock is wrong. What changed a moment ago may come again. (Asking with \`updated_since\` and the time of your last walk does leave changes out: those that were not committed yet.)
- **What disappears** comes as what it has become: a bike or station \`removed\`, a ride \`cancelled\`, a reservation \`expired\` as soon as its time is over.
- **Filters** apply to the item as it is now: one that no longer passes them is not shown when it leaves. Follow without filters on what changes.
- 410 \`checkpoint_lost\` says that changes may be missing: the database was restored or replaced, an import was undone, or, of bikes, the checkpoint is older than 7 days. Walk the list anew.

Webhooks alone do not keep a copy: \`station.updated\` comes at most once in 60 seconds for a station, and nothing tells of a bike's range and of when it reported last.`;
}

function catchingUp(): string {
  return `## Catching up

\`GET /v1/events\` lists what happened in the last ${EVENT_RETENTION_DAYS} days, oldest first. Keep the \`id\` of the last event that you dealt with, and ask with \`after=<id>\` for what came since; while there is a \`next_cursor\`, send it beside the same \`after\`. To begin with what happens from now on, ask with \`after=now\`: the answer has no events, and in \`checkpoint\` the \`id\` to send as \`after\`; where there is none, leave \`after\` out. When that event is no longer kept, the answer is 410 \`checkpoint_lost\`: fetch the resources anew, then begin without \`after\`.

An event that a webhook has brought you is known by its delivery: the \`delivery_id\` is \`delivery_\`, what follows \`event_\` in the event's \`id\`, and 6 characters of your endpoint.`;
}

function webhooks(): string {
  return `## Webhooks

In the dashboard, on the page Webhook, you enter one address of yours and choose events; each is then POSTed there as it happens, in the form shown under *Webhooks* below. The page also has the signing secret and its rotation, a test delivery, a pause and a replay; the page Deliveries shows every attempt.

- Verify \`Service-Signature\` over the raw bytes of the body before you read it, answer with any 2xx within 15 seconds, and work afterwards.
- What is not answered with 2xx is tried again, 14 times in about 73 hours, after 5 s, 30 s, 2 min and so on; \`Retry-After\` is honoured. Redirects are not followed.
- The same delivery may come twice: drop what has a \`delivery_id\` that you have seen. Deliveries may come in any order.
- 410 asks for no more: answered three times over at least a minute, it pauses the endpoint.`;
}

function values(): string {
  return `## Values

Times are RFC 3339 in UTC, to the millisecond. A field that may be unknown is there with \`null\`, never absent. Unknown query parameters are refused by name rather than ignored.`;
}

function versions(): string {
  return `## Versions

The version stands in the path, \`/v1\`. Within it we only add: fields, values of enums, events, error codes, endpoints. So ignore fields you do not know and expect enum values you have not seen. A route that is to go announces it for 12 months with \`Deprecation\`, \`Sunset\` and \`Link\` headers.`;
}

/** Returns the introduction for the operator's engineers, in Markdown. */
export function operatorIntroduction(baseUrl: string): string {
  return [operatorStart(baseUrl), batches(), repeating("batch"), operatorValues(), operatorErrors()].join("\n\n");
}

function operatorStart(baseUrl: string): string {
  return `How the operator's own backend tells the service of stations, bikes and rides, as JSON over HTTPS. Partners cannot call it. Your first request:

\`\`\`sh
curl -H "Authorization: Bearer $OPERATOR_KEY" -H "Content-Type: application/json" \\
  -d '{"items":[{"id":"JC105","name":"City Hall","lat":40.7177,"lon":-74.0438}]}' ${baseUrl}/operator/v1/stations
\`\`\`

It needs an operator key (\`bss_operator_…\`), which has the scope \`operator\`. Any other key is answered 403.`;
}

function batches(): string {
  return `## Batches

Every request holds 1 to ${MAX_BATCH} \`items\`. Each is judged by itself and done or not by itself: the answer is 200 with one result an item, in their order. \`outcome\` is \`created\`, \`updated\`, \`unchanged\` or \`failed\`; a failed item changed nothing, and its \`error\` says why. \`failed\` counts them: look at it first. Only a request that is wrong as a whole, such as one without \`items\`, gets an error status; then nothing was done.`;
}

function operatorValues(): string {
  return `## Values

Ids are yours: up to ${MAX_IDENTIFIER_LENGTH} visible characters, without control characters and without spaces at the ends. Never use one again for another thing. Times are RFC 3339 with \`Z\` or an offset. Unknown fields are refused by name rather than ignored. Never send who rode.`;
}

function operatorErrors(): string {
  return `## Errors

Every error has the same body, and so has the \`error\` of an item: \`error\`, a code from this list for your program, and \`message\`, plain words for you.

${errorsList()}

Each answer carries a \`Request-Id\`, which stands in the service's logs.`;
}

/** Returns the introduction for cities, in Markdown. */
export function mdsIntroduction(baseUrl: string): string {
  return `The Provider API of the [Mobility Data Specification](https://github.com/openmobilityfoundation/mobility-data-specification) 2.0. Get a token with the client id and the key from the operator, and send it with the version that you read:

\`\`\`sh
curl -u "$CLIENT_ID:$KEY" -d grant_type=client_credentials ${baseUrl}/mds/token
curl -H "Authorization: Bearer $TOKEN" -H "Accept: ${MDS_MEDIA_TYPE}" ${baseUrl}/mds/vehicles
\`\`\`

Reports are read with \`Accept: ${MDS_REPORT_MEDIA_TYPE}\`. Another version, or none, is answered 406. Hours are in UTC: 404 before the service began and while they last, 202 until an hour after their end, then 200 with an \`ETag\`, which changes when a ride is reported late or corrected. Lists with \`links\` go on at \`links.next\`. Fields that your requirement file disallows are left out of every answer.`;
}

/** Returns the introduction to sandboxes, in Markdown. */
export function sandboxIntroduction(baseUrl: string): string {
  return `A sandbox is a city of your own: 40 stations and 300 bikes, on which one ride begins each minute. Its keys work at the same addresses as live ones, and every answer to them has the header \`Sandbox: true\`. Here a test makes happen what it waits for:

\`\`\`sh
curl -X POST -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{}' ${baseUrl}/sandbox/v1/events/ride.completed
\`\`\``;
}

/** Returns the introduction for readers of the public feeds, in Markdown. */
export function gbfsIntroduction(baseUrl: string): string {
  return `Stations and vehicles in the form that journey planners read, made from the live state. No key is needed:

\`\`\`sh
curl ${baseUrl}/gbfs/3.0/gbfs.json
\`\`\`

\`gbfs.json\` lists the feeds there are. A path without a system's id means the first system of this deployment; what \`gbfs.json\` lists always names the system.

Ask again no earlier than \`ttl\` seconds after an answer, with its \`ETag\` in \`If-None-Match\`: a document that did not change is answered 304 without a body. Any web page may read the feeds. The id of a vehicle is random and changes after each ride, so that rides cannot be followed. What the documents hold is described by GBFS itself, at https://gbfs.org.`;
}

/**
 * Returns the error catalogue as a Markdown list. A table of sentences would be too wide for the reference's column and for
 * a phone.
 */
function errorsList(): string {
  const items = errorCodes.map((code) => {
    const { status, meaning, action } = errorCatalogue[code];
    return `- **\`${code}\`** (${status}): ${meaning} ${action}`;
  });
  return items.join("\n");
}
