import type { ReceiverRequest } from "./receiver-process.ts";
import { openReceiver, type ReceiverOptions } from "./receiver.ts";

/* Runs partners' receivers in a process. receiver-process.ts starts it and sends it requests. */

const receiver = await openReceiver(JSON.parse(process.argv[2] ?? "{}") as ReceiverOptions);
let endpoints = 0;

function answerTo(request: ReceiverRequest): unknown {
  switch (request.kind) {
    case "begin":
      return receiver.begin();
    case "secrets":
      endpoints = request.secrets.length;
      return receiver.useSecrets(request.secrets);
    case "count":
      return receiver.count();
    case "arrivals":
      return receiver.takeArrivals();
    case "result":
      return receiver.ledger.result(request.events, endpoints);
  }
}

// A message cannot be undefined, so an answer without a value is null.
process.on("message", (request: ReceiverRequest) => process.send?.(answerTo(request) ?? null));
// The parent process has ended.
process.once("disconnect", () => process.exit());
// The parent waits for this first message, which also says that the receivers listen.
process.send?.(receiver.urls);
