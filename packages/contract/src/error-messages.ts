import type { ErrorCode } from "./error-catalogue.ts";

/**
 * Every message of every error, by error code and by the message's name. `{placeholders}` stand for values, such as those
 * of the request. A function that rejects a request names a message and gives its values, so that each text is written
 * once. An error code that is missing here has one message: its meaning and its action in `errorCatalogue`.
 */
export const errorMessages = {
  unauthorized: {
    missing: "No credentials were provided. Send Authorization: Bearer <API_KEY>.",
    missingSpace: "Between Bearer and the key there must be one space.",
    notOneKey: "After Bearer there must be one space and then the key, nothing else.",
    notBearer: "The Authorization header must be: the word Bearer, one space, the key.",
    accessToken: "The access token is wrong or has expired. Ask for another at /mds/token.",
    malformedKey: "The key is incomplete or mistyped: its form or its checksum is wrong.",
    unknownKey: "The key is unknown.",
    inactiveKey: "The key {id} (…{last4}) is {status}. Ask the operator for a new one.",
    suspendedPartner: "The partner of the key {id} (…{last4}) is suspended. Ask the operator.",
    inactivePartner: "The partner that the key belongs to is suspended or was removed. Ask the operator.",
    noSession: "You are not signed in. Sign in, then try again.",
    unprovedInvitation:
      "This address has an account already. Sign in, then try again. If you never made one, ask the operator of this service for an invitation: its link opens the account.",
    endedSession: "Your session has ended. Sign in again.",
    wrongSignIn: "The address, the password or the code is wrong, or this account has no password.",
    wrongPasskey: "This passkey could not be used. Try again, or sign in another way.",
  },
  forbidden: {
    missingScope: "The key lacks the scope {scope}. Ask the operator for a key that has it.",
    operatorKey: "An operator key does not reach the partners' interface. Use a partner's key.",
    liveKey: "A live key does not reach sandboxes. Use a key of your sandbox, which begins with bss_test_.",
    agencyKey: "An agency's key reads /mds alone. Use a partner's key here.",
    viewer: "You may read this, but not change it. Ask an admin among your people to do it.",
    operatorReads: "The operator's people read a partner's pages, but change nothing there.",
    suspendedPartner: "This partner is suspended: its people read, but change nothing. Ask the operator.",
    foreignOrigin: "The request does not come from a page of this service. Open the dashboard at {origin}.",
    otherOrigin: "Web pages of another origin may not call this. Call it from a program, without the header Origin.",
    csrfToken: "The header X-CSRF-Token is missing or wrong. Load the page again.",
    signInMethod: "People do not sign in in this way here. Load the page again: it offers the ways that there are.",
    embedded: "Pages in a frame of another site do not offer this. Open the dashboard itself, and sign in.",
    otherInvitation: "This invitation is for {email}. Sign out first, then open its link again.",
  },
  confirmation_required: {
    missing:
      "Confirm first who you are, with a passkey or your password: the last time was more than {minutes} minutes ago.",
    wrongPassword: "The password or the code is wrong.",
    wrongPasskey: "This passkey could not be used, or is somebody else's.",
  },
  invalid_request: {
    notHttp: "The request is not valid HTTP.",
    unreadable: "The request could not be read.",
    readerGone: "The connection was closed before the answer was read.",
    tooSlow: "The request took too long to arrive.",
    connect: "CONNECT is not possible: this server is not a proxy.",
    headersTooLarge: "The request's headers are larger than {limit}.",
    chunkExtensionsTooLarge: "The chunk extensions of the request's body are too large.",
    missingHost: "The request has no Host header, which HTTP/1.1 requires.",
    transferEncoding:
      "A request of HTTP/1.0 cannot have Transfer-Encoding. Send Content-Length instead, or use HTTP/1.1.",
    invalidHost: "The Host header is not a host and a port.",
    repeatedHeader: "The request has the header {name} more than once. Send it once.",
    invalidPath: "The path is not valid percent-encoded UTF-8.",
    emptyBody: "The body is empty, but Content-Type announces JSON.",
    bodyNotJson: "The body is not the JSON that the headers announce.",
    bodyNotUtf8: "The body is not UTF-8, as JSON must be: the first invalid byte is at position {position}.",
    nul: "The request contains a NUL character, which no text here does. Leave it out.",
    bodyTooDeep: "The body is nested more than {limit} levels deep.",
  },
  invalid_parameter: {
    issues: "{issues}.",
    fact: "{name} cannot be {value}: it must be {expected}.",
    factMissing: "{name} must be {expected}.",
    describedInUse: "{users} refer to {id}, and no source describes it. Change them first. Nothing was changed.",
    notUtf8: "The parameter {name} is not valid percent-encoded UTF-8.",
    repeatedHeader: "The request has the header {name} more than once. Send it once.",
    changesByPage: "changes_since is walked by cursor: leave page out.",
    atAndFollowing:
      "With at the list is that of one instant, whose changes cannot be followed: leave {name} out, or leave at out.",
    changesAndUpdatedSince: "changes_since and updated_since exclude each other: give one of them.",
    pageAndCursor: "page and cursor exclude each other: give one of them.",
    keyInUrl:
      "A key must not be in the URL, which logs keep. Send Authorization: Bearer <API_KEY>, and ask for a new key: others may have read this one.",
    stationAndBike: "station_id and bike_id exclude each other: give exactly one of them.",
    inFuture: "{field} lies in the future, more than {limitSeconds} s ahead of the service's clock.",
    startBefore1970: "started_at lies before 1970.",
    endBeforeStart: "{field} lies before the ride's start, {startedAt}.",
    endTooLate: "{field} lies more than {limit} s after the ride's start.",
    tooManyToResend:
      "More than {limit} deliveries match, or too many would have to be looked at. Choose a shorter time span.",
    repeatedId: "id occurs twice in this batch.",
    notRecent: "start_time lies more than two weeks back: it must be {oldest} or later. Read /mds/events/historical.",
    newStation: "name, lat and lon must be given: the station is new.",
    wrongCode: "code is wrong. Check that the clock of your device is right, and wait for the next code.",
    challenge: "challenge_token has expired or was used. Begin again.",
    setup: "setup_token has expired. Begin again.",
    passkeyRefused: "This passkey could not be added: {reason}.",
    passwordSimple: "password repeats one character, or contains your address. Choose another.",
    feedStation:
      "Station {id} is described by the source {source}, which would overwrite this. Change it there, or stop following that source.",
    feedBike:
      "Bike {id} is described by the source {source}, which would overwrite this. Only its vehicle_state can be changed here.",
    bikeAtFeedStation:
      "The bikes at station {id} are counted by the source {source}. Give lat and lon instead of station_id, or have that source count the bike.",
    removedStation: "id is that of a station that was removed for good, and is never used again.",
    newAlert: "type and summary must be given: the alert is new.",
    pastAlert: "times are all over. Give times that are not, or end the alert with alerts/end.",
    feedAlert: "Alert {id} is of the source {source}, which would overwrite this. Change it there, or take another id.",
    exportMonth: "month must be given for rides and station_status, and be null for stations.",
    exportPrivacy: "privacy must be given for rides, and be null for all else.",
    futureMonth: "month is {month}, which has not begun: the present month is {present}.",
    tooManyAlerts: "There are {limit} open alerts of yours, which is the most. End some with alerts/end.",
    alertStations: "station_ids names stations that there are not: {ids}. Leave them out.",
    timesReversed: "from must lie before to.",
    timesAhead: "from lies in the future: there is nothing yet.",
    tooManySteps:
      "from and to are {steps} steps of {step} apart; at most {limit} are given at once. Choose longer steps or less time.",
    daysReversed: "from must not be after to.",
    deliveriesReversed: "since must lie before until.",
    tooManyDays: "from and to span {days} days; at most {limit} are given at once.",
    alertRegions: "region_ids names regions that there are not: {ids}. Leave them out, or name them first.",
  },
  outside_history: {
    before: "at={at} lies before the history that is kept. It begins at {begins}.",
    future: "at={at} lies in the future: it is {now} now. Leave at out for the present.",
  },
  invalid_cursor: {
    empty: "cursor is empty. The list ended where next_cursor was absent; to begin again, leave cursor out.",
    foreign:
      "cursor is damaged, not ours, or was given for another list or other filters. Copy next_cursor unchanged and keep the filters, or begin again without it.",
    checkpoint:
      "changes_since is not a checkpoint of this list with these filters. Copy checkpoint unchanged and keep the filters, or begin again with updated_since.",
  },
  page_out_of_range: { beyondLast: "page is {page}, but the last page is {lastPage} with a limit of {limit}." },
  not_found: {
    path: "There is no such path. /openapi.json lists those there are, /gbfs/3.0/gbfs.json the public feeds; /docs explains them.",
    pathId: "There is no such resource: the identifier in the path {issue}.",
    report: "There is no such report: its file is named by a month, such as 2026-10.csv.",
    monthAhead: "The month is not over yet. Ask again after {at}.",
    monthBefore: "The month was over before the service began, at {since}.",
    device: "There is no vehicle with this device_id.",
    stop: "There is no station with this stop_id.",
    hourAhead: "The hour is not over yet. Ask again after {at}.",
    hourBefore: "The hour lies before the service began, at {since}.",
    hourPast: "The hour lies more than {days} days back, and is no longer read.",
    alert: "There is no alert with this id, or it ended long ago.",
    bike: "There is no bike with this id.",
    description: "You have set nothing of {id} that could be removed.",
    publicId: "No bike has this public id, or had it in the last {minutes} minutes.",
    export: "There is no export with this id, or it is not shared with partners.",
    exportSchedule: "There is no such schedule.",
    event: "There is no event with this id that the key may see.",
    delivery: "There is no delivery {id} among those of the last {days} days.",
    endpoint: "There is no endpoint {endpoint}. There are: {endpoints}.",
    reservation: "You have no reservation with this id.",
    ride: "There is no ride with this id.",
    station: "There is no station with this id.",
    stationAt: "No station with this id was known at {at}.",
    check: "This check has found nothing, or it is another system's.",
    system: "There is no such system.",
    request:
      "There is no such request in the log. It may have carried no key, be older than {days} days, or have been left out.",
    sentAttempt: "Nothing that was sent is kept of this attempt.",
    page: "There is no such page, or it is not yours.",
    partner: "There is no such partner.",
    member: "There is no such member.",
    openInvitation: "There is no such invitation, or it has been used or revoked already.",
    passkey: "You have no such passkey.",
    identity: "Your account is not connected to the identity provider.",
    identityProvider: "This service uses no identity provider.",
    session: "You have no such session.",
    dashboardLink: "This link has been opened, or has expired. Ask your portal for a new one.",
    invitation: "This invitation has been used, was revoked or has expired. Ask for a new one.",
    noSystem: "There is no system yet.",
    feed: "There is no such feed. There are: {feeds}.",
    feedFile: "There is no such feed: its name ends in .json.",
    feedOfSystem: "This system has no such feed.",
    gbfsVersion: "There is no such version of GBFS here. There are: {versions}.",
    feedLanguage: "This system has no texts in this language. There are: {languages}.",
    namedAlert: "There is no alert {id}.",
    namedBike: "There is no bike {id}.",
    threshold:
      "No webhook of yours has the event {event} and a threshold for such a station that is not below it. Set one first.",
    highThreshold:
      "The threshold asks for {limit} bikes at station {id}, which can have {most} at most. Set a fewer_than up to that first.",
    lowThreshold:
      "Station {id} has over {most} bikes more than the threshold of {limit} allows: too many to take at once. Reset the sandbox, or raise fewer_than, first.",
    namedStation: "There is no station {id}.",
    goneStation: "Station {id} was removed for good, and cannot be brought back. Nothing was changed.",
    removedStation: "Station {id} was removed for good. Name another one, or give lat and lon instead.",
    notStarted: "There is no ride with this id: it never started.",
    deletedBike: "The bike was deleted at the same time.",
  },
  conflict: {
    deliveryNotKept: "Delivery {id} is older than {days} days: what it said is no longer kept.",
    endpointPaused: "The webhook is paused: resume it first. Nothing was changed.",
    endpointRemoved: "The webhook was removed: set its address and events again first. Nothing was changed.",
    testDelivery: "Delivery {id} is a test: send another test instead.",
  },
  method_not_allowed: { allowed: "The path does not allow the method {method}. Allowed: {allowed}." },
  bike_not_available: {
    state: "The bike is {state}. Choose another one.",
    vehicleType: "The bike is not of the type that vehicle_type_id asks for.",
    reported: "Bike {id} is {state}.",
  },
  too_many_reservations: {
    limit: "You have as many active reservations as your limit of {limit} allows. Cancel one, or wait until one ends.",
  },
  reservation_not_active: {
    cancel: "The reservation is {status}, so it cannot be cancelled.",
    extend: "The reservation is {status}, so it cannot be extended.",
    otherBike: "Reservation {id} does not hold bike {bikeId}.",
  },
  hold_limit_reached: {
    left: "A hold lasts at most {limit} minutes in all. This one can be extended by {left} more.",
  },
  ride_conflict: {
    bikeOnRide: "Bike {bikeId} is on ride {rideId}. End or cancel that first.",
    sameId: "There is a ride with this id. Stored: {stored}.",
    overlap:
      "The bike cannot be on two rides at once: ride {rideId} overlaps these times. Stored: {stored}. Correct the times of one of the two.",
    startedMeanwhile: "Another ride with this id, or on this bike, was started at the same time.",
    started: "The ride is not over: end it, or cancel it. Stored: {stored}.",
    completed: "The ride has ended. To correct how, use rides/correct. Stored: {stored}.",
    cancelled: "The ride was cancelled, which is final. Stored: {stored}.",
    otherRideStored:
      "There is another ride with this id: on another bike, from another time, or not completed. Stored: {stored}.",
  },
  last_one: {
    credential: "This is the only way in which you can sign in. Add another one first.",
    operatorAdmin: "This is the operator's only admin in this system. Make somebody else an admin first.",
  },
  checkpoint_lost: {
    changes:
      "Since this checkpoint things may have changed that the list no longer shows: {reason}. Read the list anew, with updated_since.",
    after:
      "The event {id} is no longer kept, or the key may not see it. Fetch the resources anew, then list events without after.",
  },
  payload_too_large: { body: "The body is larger than {limit}. Send less at once." },
  unsupported_media_type: {
    notJson: "The body must be JSON, sent with Content-Type: application/json.",
    notBytes: "The body must be bytes, sent with Content-Type: application/octet-stream.",
    charset: "The body must be JSON in UTF-8: send it with no charset, or utf-8.",
    compressed: "The service reads no compressed bodies. Send the body without Content-Encoding.",
  },
  rate_limited: {
    sandboxActs: "Too many requests wait for their turn in the sandbox. Try again in {retryAfterSeconds} s.",
    sandbox: "A fault of the sandbox simulates this error. Try again in {retryAfterSeconds} s.",
    key: "The key has made {limit} requests in the last {windowSeconds} s. Try again in {retryAfterSeconds} s.",
    address:
      "This address has used up the {limit} requests without a key that it may make in {windowSeconds} s; large answers count as several. Try again in {retryAfterSeconds} s.",
    probes: "{limit} test requests were sent in the last 60 s, which is the most. Try again in {retryAfterSeconds} s.",
    signIn: "Too many attempts to sign in. Try again in {retryAfterSeconds} s, or use a passkey.",
    invitations: "Too many invitations in the last hour. Try again in {retryAfterSeconds} s.",
    liveStreams:
      "Too many pages are open that follow changes: one person may have {limit}, and all people together have a limit too. Close some, then try again in {retryAfterSeconds} s.",
    session:
      "Your sessions have used up the {limit} requests that they may make in {windowSeconds} s together; a change, a file or a large resend counts as several. Try again in {retryAfterSeconds} s.",
    downloads:
      "{limit} files are being downloaded at present, which is the most. Wait for one to end, then try again in {retryAfterSeconds} s.",
    exports:
      "A file of these deliveries is being downloaded at present. Download one at a time. Try again in {retryAfterSeconds} s.",
    hours:
      "{limit} hours are being sent at present, which is the most. Read one to its end, then try again in {retryAfterSeconds} s.",
    wrongCredentials:
      "Too many requests with wrong credentials from this address. Try again in {retryAfterSeconds} s with a key that works.",
  },
  unavailable: {
    sandbox: "A fault of the sandbox simulates this error. Try again in {retryAfterSeconds} s.",
    exportFile:
      "The file is not on the machine that answers. Try again in {retryAfterSeconds} s; if it stays, tell the operator that EXPORTS_DIR must be one directory for all processes.",
    database: "The database cannot be reached. Nothing was changed. Try again in {retryAfterSeconds} s.",
    outcomeUnknown:
      "The connection to the database broke while the change was stored, and it is unknown whether it was. Send the same request again in {retryAfterSeconds} s, with the same Idempotency-Key if it had one.",
    diskFull: "The database's disk is full. Nothing was changed. Try again in {retryAfterSeconds} s.",
    stopping: "The process is shutting down. Try again in {retryAfterSeconds} s.",
    signIns: "Too many people are signing in at present. Try again in {retryAfterSeconds} s.",
    commands: "Too many commands are waiting. Nothing was changed. Try again in {retryAfterSeconds} s.",
    stoodStill:
      "The process stood still, and the request may have waited in it for longer than its sender did. Nothing was changed. Try again in {retryAfterSeconds} s.",
    ownFilteredLists:
      "You are reading other filtered lists or searches at present. Read one at a time. Try again in {retryAfterSeconds} s.",
    filteredLists: "Too many filtered lists are read at present. Try again in {retryAfterSeconds} s.",
    slowFilter:
      "More passes the filters than can be read in {limitSeconds} s. Narrow them, for example by time, or read the list by cursor; the same request may be tried again in {retryAfterSeconds} s.",
  },
} as const satisfies { readonly [Code in ErrorCode]?: Readonly<Record<string, string>> };
