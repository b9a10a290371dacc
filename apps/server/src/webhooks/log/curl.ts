import { serviceError } from "@bikeshare/rules";
import { signSync, standardHeadersSync } from "@bikeshare/webhooks/node";
import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { type PartnerScope, recordEndpointAct, requireEndpointOrRemoved } from "../endpoints/endpoint-context.ts";
import { listActiveSecrets } from "../endpoints/endpoint-queries.ts";
import type { SecretCipher } from "../endpoints/secret.ts";
import { type ReadContext, showDelivery } from "./deliveries.ts";
import type { Exchange, HeaderPair } from "./delivery-view.ts";

export interface CurlInput extends PartnerScope {
  readonly deliveryId: string;
  /** `localhost`: a receiver that somebody develops on their own machine. */
  readonly to: "endpoint" | "localhost";
  /** The number of the attempt; the latest sent one by default. */
  readonly attempt?: number | undefined;
}

const LOCALHOST = "http://localhost:3000";
/** Headers that curl adds by itself, and those that hold for the original attempt only. */
const LEFT_OUT =
  /^(host|connection|content-length|transfer-encoding|service-signature|webhook-(id|timestamp|signature))$/i;

/**
 * Returns an attempt as a curl command, without a signature.
 * @throws ServiceError when there is no such delivery, or nothing of it was sent
 */
export async function curlOf(context: ReadContext, input: CurlInput): Promise<string> {
  return command(await sentExchange(context, input), input.to, []);
}

/**
 * Like `curlOf`, signed now with every active secret. A receiver accepts the command for some minutes, so the audit log
 * records who asked for it. The secret itself is not in the command.
 * @throws ServiceError as `curlOf` does
 */
export async function signedCurlOf(
  context: ActorContext & { readonly cipher: SecretCipher },
  input: CurlInput,
): Promise<string> {
  const { db, clock, cipher } = context;
  const { systemId, deliveryId } = input;
  const exchange = await sentExchange(context, input);
  const endpoint = await requireEndpointOrRemoved(db, input);
  const rows = await listActiveSecrets(db, systemId, endpoint.id, new Date(clock()));
  const secrets = rows.map(({ id, encrypted }) =>
    cipher.decrypt({ systemId, endpointId: endpoint.id, secretId: id }, encrypted),
  );
  if (secrets.length === 0) throw commandError("conflict", "endpointRemoved", { partnerId: input.partnerId });
  const timestamp = Math.floor(clock() / 1000);
  const { body } = exchange.request;
  const standard =
    endpoint.signature === "both" ? standardHeadersSync({ id: deliveryId, timestamp, body, secrets }) : [];
  const signature: HeaderPair = ["Service-Signature", signSync({ body, secrets, timestamp })];
  await db.transaction((tx) =>
    recordEndpointAct(context, tx, systemId, "webhook.signed_copy", endpoint.id, { delivery_id: deliveryId }),
  );
  return command(exchange, input.to, [signature, ...standard]);
}

type SentExchange = Exchange & { readonly request: NonNullable<Exchange["request"]> };

async function sentExchange(context: ReadContext, { deliveryId, attempt, ...scope }: CurlInput): Promise<SentExchange> {
  const { exchanges } = await showDelivery(context, scope, deliveryId);
  const sent = exchanges.filter((exchange): exchange is SentExchange => exchange.request !== null);
  const exchange = attempt === undefined ? sent.at(-1) : sent.find(({ number }) => number === attempt);
  if (exchange === undefined) throw serviceError("not_found", "sentAttempt");
  return exchange;
}

function command({ url, request }: SentExchange, to: CurlInput["to"], signature: readonly HeaderPair[]): string {
  const { pathname, search } = new URL(url);
  const target = to === "localhost" ? `${LOCALHOST}${pathname}${search}` : url;
  const headers = [...request.headers.filter(([name]) => !LEFT_OUT.test(name)), ...signature];
  return [
    `curl -i -X POST ${quoted(target)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `--data-binary ${quoted(request.body)}`,
  ].join(" \\\n  ");
}

/** Returns a text as one word of a POSIX shell, whatever it contains. A body that begins with `@` would be read from a file. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
