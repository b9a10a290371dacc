import { errorMessages, fillTemplate, type TemplateArguments } from "@bikeshare/contract";
import { ServiceError, type ServiceErrorCode } from "@bikeshare/rules";

/**
 * Messages of errors of the command line and the dashboard, and a few of the interfaces for sandboxes and the operator's
 * backend. Each is a template: `{id}` stands for the value `id`. Errors of the partners' interface at /v1 have the
 * contract's `errorMessages`. Callers over HTTP get the messages of `pageMessages` instead, where it has one.
 */
const commandErrors = {
  not_found: {
    agency: "Partner {id} is no agency. `mds create-agency` creates one.",
    delivery: "There is no delivery {id}. `webhooks deliveries` shows those of the last {days} days.",
    endpoint: "Partner {partnerId} has no webhook endpoint. `webhooks set` creates one.",
    import: "There is no import {id}. `import list` shows the imports.",
    key: "There is no key {id}. `keys list` shows the keys.",
    partner: "There is no partner {id}. `partners list` shows the partners.",
    person: "Nobody signs in with the address {email}. Check its spelling; `console invite` invites somebody new.",
    namedEndpoint: "Partner {partnerId} has no webhook endpoint {endpoint}. It has: {endpoints}.",
    removedEndpoint:
      'The endpoint "{name}" of partner {partnerId} was removed{when}. `webhooks set` with --url and --events creates it again.',
    replay: "There is no replay {id}. `webhooks show` names an endpoint's latest.",
    feedSource: "No source {id} with an address is followed. The page of feeds lists the sources.",
    setAside: "No background job of {id} fails. `set-aside list` shows those that fail.",
    system: "There is no system {id}. `systems list` shows the systems.",
    upload: "There is no upload {id} any more: somebody discarded it, or it waited too long. Send the file again.",
    systemOption: 'There is no system "{id}". There are: {ids}.',
  },
  forbidden: {
    unreadableEvents:
      "No key of yours may read what these events are about: {events}. Ask the operator for a key with their scopes, or to choose them for you.",
  },
  invalid_parameter: {
    deliveriesLimit: "The limit must be from 1 to {limit}.",
    email: "The email must be one address, such as webhooks@example.com.",
    endpointName: "The name of an endpoint must be one line of 1 to {limit} characters.",
    emptyReplay: "The range is empty: it must begin before it ends, and before now.",
    keyOverlap: "The overlap must be between 0 h and {days} d.",
    newEndpoint: "A new endpoint needs a URL and at least one event: --url and --events.",
    noPlaces: "Name a station, a region or a box, or choose everywhere.",
    placesBox: "The box {issue}.",
    tooManyPlaces: "An endpoint names at most {limit} stations and {limit} regions.",
    tooManyThresholds: "An endpoint has at most {limit} thresholds.",
    tooManyWatched:
      "These thresholds watch {watched} stations in all; at most {limit} are possible. Name fewer stations or regions.",
    thresholdEvents: "Choose the events {events}, or one of them: a threshold sends nothing else.",
    maxPerHour: "An endpoint takes from 1 to {limit} messages an hour; leave the limit out for all.",
    unknownPlace: "There is no {kind} {id}.",
    noEvents: "Name at least one event. There are: {events}.",
    partnerNameMismatch: "This is not the name of partner {id}. Nothing was changed.",
    severalEndpoints:
      "Partner {partnerId} has several webhook endpoints: name one with --endpoint. It has: {endpoints}.",
    secretOverlap: "The overlap must be between 0 h and {days} d.",
    tooManySecrets:
      "{count} secrets sign already, which is the most. Wait until one ends, or rotate with an overlap of 0h.",
    timeZone: '"{zone}" is no time zone. Name one of the IANA list, such as Europe/Vienna.',
    unknownEvent: "There is no event {event}. There are: {events}.",
    url: "{issue}",
  },
  conflict: {
    agencyKey: "Partner {partnerId} is an agency: its keys have the scope {scope} and no other.",
    agencyWebhook: "Partner {partnerId} is an agency: it reads MDS, and has no webhook.",
    otherProvider: "The agencies that there are know you by the id {providerId}. Leave out --provider-id.",
    noAgency: "Only agencies have keys with the scope {scope}. `mds create-agency` creates one.",
    deliveryNotKept: errorMessages.conflict.deliveryNotKept,
    sandboxFaults: "There are {limit} faults, which is the most. `DELETE /sandbox/v1/faults` ends them.",
    testDelivery: "Delivery {id} is a test: `webhooks test` sends another.",
    sandboxOfAgency: "Partner {partnerId} is an agency, which has no sandbox.",
    partnerOfSandbox:
      "System {systemId} is a sandbox, which has the partner whose sandbox it is and no other. Name another system.",
    sandboxOfSandbox: "System {systemId} is a sandbox itself. Name the partner's own system.",
    noFrameAncestors:
      "No other site may show the dashboard in a frame. Set DASHBOARD_FRAME_ANCESTORS to the origin of your portal.",
    endpointNameTaken: 'The partner has an endpoint "{name}" ({id}) already. Choose another name.',
    tooManyEndpoints: "The partner has {limit} webhook endpoints, which is the most. Remove one first.",
    endpointPaused: "The endpoint of partner {partnerId} is paused: `webhooks resume` it first. Nothing was changed.",
    endpointPausedByOperator: "The operator has paused the endpoint: only the operator can resume or remove it.",
    endpointPausedProbe:
      "The endpoint of partner {partnerId} is paused: `webhooks resume` sends it a delivery as a probe.",
    endpointPausedReplay:
      "The endpoint of partner {partnerId} is paused: what waited is held. `webhooks resume` asks what becomes of it.",
    endpointRemoved:
      "The endpoint of partner {partnerId} was removed: `webhooks set` creates it again. Nothing was changed.",
    factsChanged:
      "Somebody else, or a feed, has changed this since it was shown. Nothing was saved: look at what it is now, then save again.",
    heldChanged:
      "{total} deliveries are held now, more than the {seen} that you were shown. Nothing was dropped: count them again.",
    exportsFull:
      "There are {limit} exports that people asked for, which is the most. Delete some first. Nothing was changed.",
    exportsWaiting: "{limit} exports wait or are being made, which is the most. Wait until one is finished.",
    exportSchedules: "There are {limit} schedules, which is the most. Remove one first.",
    importChangedOthers:
      "Import {id} cannot be undone: it changed {count} stations and bikes that were there before, and what they were is not kept. Import the feed they came from again instead.",
    importFollowed:
      'Import {id} cannot be undone while a process follows its source "{source}": the next poll would create everything again. End `sync gbfs`, or restart `serve` without GBFS_SYNC_URL, and undo it after {until}.',
    importNotLast:
      'Import {id} cannot be undone before the later ones of the source "{source}". Undo these first, in this order:{commands}',
    importOverlapped:
      "Import {id} cannot be undone before {later}, which found rides of it and left them as they were. Undo these first, in this order:{commands}",
    importSourceInUse: "Import {id} cannot be undone: {reason} Nothing was changed.",
    importTripsChanged:
      "Import {id} cannot be undone: {changed} of its {created} rides were changed since{examples}. Nothing was changed: correct what is wrong with `rides/correct`, or restore a backup from before the import.",
    importUndone: "Import {id} was already undone, at {at}.",
    keyAllowance:
      "Partner {partnerId} makes no keys of its own: the operator has not allowed it. Ask the operator for a key.",
    keyAllowanceCount:
      "{count} keys of the partner's own people work, of {limit} that the operator allows. Revoke one, or ask the operator for more. A rotation without overlap needs no room.",
    keyAllowanceEnded:
      "Requests of keys that ended in the last 60 s still count: with this key they may be more than twice the {limit} that the operator allows. Try again in a minute.",
    keyAllowanceLifetime:
      "The operator allows keys that expire within {days} days from now, and this one expires at {expiry}. Choose another expiry.",
    keyAllowanceRate:
      "The operator allows {limit} requests in any 60 s for all keys of the partner's own people together. {left} are left, and this key asks for {asked}. Lower its rate, revoke another key or rotate without overlap.",
    keyAllowanceScopes: "The operator does not allow the scope {scope} to keys of the partner's own people.",
    keyInactive: "Key {id} is {status} already: issue a new one instead.",
    keysMadeToday:
      "The partner's own people made {count} keys in the last 24 hours, which is the most. Try again tomorrow, or ask the operator.",
    keyOverlaps:
      "Key {id} replaces {replaced}, whose requests count until {until}, a minute after its end. Wait until then, or revoke that one and wait a minute.",
    keyRotated: "Key {id} was rotated already, to {successor}.",
    notSending: "No process is running that sends webhooks, so nothing was sent: start `serve`, then try again.",
    partnerNameTaken: "Partner {id} has the name {name}. Choose another.",
    partnerRemoved: "Partner {id} was removed {at}, for good.",
    settingsChanged:
      "Somebody else has changed these settings since they were shown. Nothing was saved: look at what they are now, then change them again.",
    severalSystems: "There are several systems: say which with --system. There are: {ids}.",
    uploadEmpty: "Nothing of {file} can be imported.",
    uploadImporting: "{file} is being imported. To take it back, undo the import.",
    uploadPlace: "The next bytes of the file are expected from byte {expected} on, and these begin at {start}.",
    uploadPresent:
      "{by} is importing {file}, and one file is imported at a time. Wait until that is done, or discard it. Nothing was changed.",
    uploadState: "That cannot be done to {file} at present: look at how far it is.",
    uploadTooLarge:
      "The file is larger than {limit}, the most that is imported in the browser. Pack it as .zip or .csv.gz, send it in parts, or use the command `import trips`.",
    partnerSuspended: "Partner {partnerId} is suspended: `partners resume {partnerId}` ends that. Nothing was changed.",
  },
  secrets_file_mismatch: {
    foreignSecrets: "{mismatch} Nothing was changed.",
    olderKey:
      "This SECRETS_FILE is not the one that the service uses: it lacks the key that has encrypted since {since}. " +
      "Set SECRETS_FILE to the file that the other processes of the deployment use (by default secrets.json in DATA_DIR). " +
      "If that file is gone for good, start `serve` with this one, then try again. Nothing was changed.",
    usedBy: "{message}\nThis command used {path}.",
  },
} as const satisfies { readonly [Code in ServiceErrorCode]?: Readonly<Record<string, string>> };

/**
 * Messages that callers over HTTP get instead of messages above. Most replace one that names a command of the command line,
 * or one that does not begin with the path of the wrong field: the dashboard shows a message beside the field that it
 * begins with. Messages that /v1 returns too are the contract's.
 */
const pageMessages = {
  not_found: {
    delivery: errorMessages.not_found.delivery,
    endpoint: "There is no webhook address yet. Set one first.",
    import: "There is no import {id}.",
    key: "There is no key {id}.",
    partner: "There is no partner {id}.",
    namedEndpoint: errorMessages.not_found.endpoint,
    removedEndpoint: 'The endpoint "{name}" was removed{when}. Set its address and events to make it anew.',
    replay: "There is no resend {id}.",
  },
  invalid_parameter: {
    email: "email must be one address, such as webhooks@example.com.",
    endpointName: "name must be one line of 1 to {limit} characters.",
    newEndpoint: "A new webhook needs an address and at least one event.",
    placesBox: "places.bbox {issue}.",
    tooManyPlaces: "{path} must be at most {limit}.",
    tooManyThresholds: "thresholds must be at most {limit}.",
    tooManyWatched:
      "thresholds must watch at most {limit} stations in all, not {watched}. Name fewer stations or regions.",
    thresholdEvents: "events must have {events}, or one of them: a threshold sends nothing else.",
    unknownPlace: "{path} cannot have {id}: there is no such {kind}.",
    timeZone: 'time_zone cannot be "{zone}": it must be one of the IANA list, such as Europe/Vienna.',
    url: "url cannot be used: {issue}",
    severalEndpoints: "There are several endpoints: name one as endpoint_id. There are: {endpoints}.",
    tooManySecrets:
      "{count} secrets sign already, which is the most. Wait until one ends, or rotate without an overlap.",
  },
  conflict: {
    endpointPaused: errorMessages.conflict.endpointPaused,
    endpointPausedByOperator:
      "The operator has paused the webhook: only the operator can resume or remove it. Nothing was changed.",
    endpointPausedProbe: "The webhook is paused: resume it, which sends a delivery as a probe.",
    endpointPausedReplay:
      "The webhook is paused: what waited is held. Resume it, and choose whether that is sent or dropped.",
    endpointRemoved: errorMessages.conflict.endpointRemoved,
    importNotLast:
      'Import {id} cannot be undone before the later ones of the source "{source}". Undo those first, the latest first.',
    importOverlapped:
      "Import {id} cannot be undone before {later}, which found rides of it and left them as they were. Undo those first.",
    notSending: "No process of the service sends webhooks at present, so nothing was sent. The operator can start one.",
    testDelivery: errorMessages.conflict.testDelivery,
    partnerSuspended: "The partner is suspended. Nothing was changed.",
  },
  secrets_file_mismatch: {
    foreignSecrets:
      "The service's secrets file does not have the key that encrypted a webhook's secret. Nothing was changed. Tell the operator.",
    olderKey:
      "The service's secrets file is not the one that encrypted the secrets since {since}. Nothing was changed. Tell the operator.",
  },
} as const satisfies {
  readonly [Code in keyof typeof commandErrors]?: { readonly [Name in keyof (typeof commandErrors)[Code]]?: string };
};

/**
 * The templates by name: each as a union with its replacement, so that `commandError` asks for the values of both.
 */
type Messages<Code extends keyof typeof commandErrors> = {
  readonly [Name in keyof (typeof commandErrors)[Code]]:
    | (typeof commandErrors)[Code][Name]
    | (typeof pageMessages extends {
        readonly [OfCode in Code]: { readonly [OfName in Name]: infer Replacement extends string };
      }
        ? Replacement
        : never);
};

/** Returns an error with a message of `commandErrors`; its `httpMessage` is the replacement in `pageMessages`, if any. */
export function commandError<Code extends keyof typeof commandErrors>(
  code: Code,
  ...[name, values]: TemplateArguments<Messages<Code>>
): ServiceError {
  const messages: Readonly<Record<string, string>> = commandErrors[code];
  const message = messages[String(name)] ?? "";
  const onPages: Readonly<Partial<Record<string, Readonly<Partial<Record<string, string>>>>>> = pageMessages;
  const httpMessage = fillTemplate(onPages[code]?.[String(name)] ?? message, values);
  return new ServiceError(code, fillTemplate(message, values), { httpMessage });
}
