import { MAX_BATCH } from "../batch.ts";
import { MAX_IDENTIFIER_LENGTH } from "../identifier.ts";
import { errorsList } from "./errors-list.ts";
import { repeating } from "./introduction.ts";

/** What an engineer of the operator should know before the first request, in Markdown. */
export function operatorIntroduction(baseUrl: string): string {
  return [start(baseUrl), batches(), repeating("batch"), values(), errors()].join("\n\n");
}

function start(baseUrl: string): string {
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

function values(): string {
  return `## Values

Ids are yours: up to ${MAX_IDENTIFIER_LENGTH} visible characters, without control characters and without spaces at the ends. Never use one again for another thing. Times are RFC 3339 with \`Z\` or an offset. Unknown fields are refused by name rather than ignored. Never send who rode.`;
}

function errors(): string {
  return `## Errors

Every error has the same body, and so has the \`error\` of an item: \`error\`, a code from this list for your program, and \`message\`, plain words for you.

${errorsList()}

Each answer carries a \`Request-Id\`, which stands in the service's logs.`;
}
