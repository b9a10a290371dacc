import { type AttemptFailure, SET_ASIDE } from "../rules/after-attempt.ts";

/** The meaning of a failure, and the remedy on the receiver's side. */
export interface FailureAdvice {
  readonly meaning: string;
  readonly action: string;
}

/** Advice by the reason why there is no complete response. */
const advice: Readonly<Record<AttemptFailure, FailureAdvice>> = {
  url_refused: {
    meaning: "The address may not be called by this service.",
    action: "Set an https address that is public.",
  },
  address_refused: {
    meaning: "The name leads to an address inside a private network, which this service never calls.",
    action: "Let the name lead to a public address.",
  },
  dns: {
    meaning: "The name of your server has no address.",
    action: "Check the spelling of the address and the DNS records of its name.",
  },
  dns_timeout: {
    meaning: "The name servers of your domain did not answer in time.",
    action: "Check that your name servers answer from outside your network.",
  },
  connect_refused: {
    meaning: "Your server refused the connection: nothing listens there.",
    action: "Check that the server runs and listens on this port, and that no firewall refuses it.",
  },
  connect_timeout: {
    meaning: "No connection could be made in time.",
    action: "Check that a firewall lets this service through, and that the server is not overloaded.",
  },
  connect: {
    meaning: "No connection could be made.",
    action: "Check that the server can be reached from outside your network.",
  },
  tls: {
    meaning: "The encrypted connection could not be trusted.",
    action: "Check that the certificate is valid for this name, has not expired, and is sent with its whole chain.",
  },
  timeout: {
    meaning: "Your server took the request, but did not begin to answer in time.",
    action: "Answer with 2xx as soon as the delivery is stored, and work on it afterwards.",
  },
  body_timeout: {
    meaning: "Your server began to answer, but did not finish in time.",
    action: "Send a short answer, or none beside the status, and end it.",
  },
  reset: {
    meaning: "Your server closed the connection before it had answered.",
    action: "Look for a crash or a restart at this time in its log, or a proxy that cuts connections.",
  },
  stale_connection: {
    meaning: "Your server closed a connection that was kept open, just as it was used again.",
    action: "Nothing: it is tried again on a new connection. If it happens often, keep connections open for longer.",
  },
  protocol: {
    meaning: "The answer is not valid HTTP.",
    action: "Check that this port speaks HTTP/1.1, and what stands between: a proxy may spoil the answer.",
  },
  headers_too_large: {
    meaning: "The headers of the answer are too large.",
    action: "Send fewer or shorter headers.",
  },
  too_many_informational: {
    meaning: "The server sent interim answers (1xx) without end.",
    action: "Check what stands between: a server or proxy sends them by mistake.",
  },
};

/** Advice by the status code of a complete response. */
const codeAdvice: Readonly<Record<number, FailureAdvice>> = {
  400: {
    meaning: "Your server calls the request malformed.",
    action: "Check what it expects: the body is JSON, as shown.",
  },
  401: {
    meaning: "Your server asks for credentials, or does not accept the signature.",
    action: "Check the secret, the server's clock, and that the signature is verified over the raw body.",
  },
  403: {
    meaning: "Your server forbids the request.",
    action: "Check the secret, and whether a firewall for applications blocks it.",
  },
  404: { meaning: "Your server has nothing at this path.", action: "Check the path of the address." },
  405: { meaning: "Your server takes no POST at this path.", action: "Let the path take POST." },
  410: {
    meaning: "Your server says that the address is gone for good. If it goes on, the endpoint is paused.",
    action: "Set the new address, or leave the endpoint paused.",
  },
  413: { meaning: "Your server calls the body too large.", action: "Raise its limit for bodies to 64 KiB at least." },
  429: {
    meaning: "Your server takes no more requests at present.",
    action: "Raise its limit for this service, or send Retry-After, which is honoured.",
  },
};

/** Advice by the first digit of a status code that `codeAdvice` lacks. */
const classAdvice: Readonly<Record<number, FailureAdvice>> = {
  3: { meaning: "Your server redirects, which is not followed.", action: "Set the address that it redirects to." },
  4: { meaning: "Your server refuses the request.", action: "Read its answer below, and its log." },
  5: {
    meaning: "Your server failed while it handled the request.",
    action: "Look for an error at this time in its log.",
  },
};

/** Advice on an attempt with the outcome `unknown`. */
const unknown: FailureAdvice = {
  meaning: "The process that sent it ended before it could write the result down. It may have arrived.",
  action: "Nothing: it is sent again. Drop repeats by the delivery_id.",
};

/** Advice on a delivery that was set aside (docs/glossary.md#set-aside). */
const setAside: FailureAdvice = {
  meaning:
    "The last three processes that sent it ended before they could write a result down, or the database rejected its result. It may have arrived.",
  action: "Tell the operator: it is not sent again by itself. It can be resent once the cause is mended.",
};

/**
 * Returns the meaning of an attempt's outcome and its remedy; null: it succeeded, or there is no advice on its status code.
 */
export function adviceOn(end: {
  readonly outcome: string;
  readonly failure: string | null;
  readonly status: number | null;
}): FailureAdvice | null {
  const { outcome, failure, status } = end;
  if (outcome === "succeeded") return null;
  if (outcome === "rejected" && status !== null)
    return codeAdvice[status] ?? classAdvice[Math.floor(status / 100)] ?? null;
  if (failure === SET_ASIDE) return setAside;
  return failure !== null && isAttemptFailure(failure) ? advice[failure] : unknown;
}

function isAttemptFailure(failure: string): failure is AttemptFailure {
  return failure in advice;
}
