/** What a reader of the public feeds should know before the first request, in Markdown. */
export function gbfsIntroduction(baseUrl: string): string {
  return `Stations and vehicles in the form that journey planners read, made from the live state. No key is needed:

\`\`\`sh
curl ${baseUrl}/gbfs/3.0/gbfs.json
\`\`\`

\`gbfs.json\` lists the feeds there are. A path without a system's id means the first system of this deployment; what \`gbfs.json\` lists always names the system.

Ask again no earlier than \`ttl\` seconds after an answer, with its \`ETag\` in \`If-None-Match\`: a document that did not change is answered 304 without a body. Any web page may read the feeds. The id of a vehicle is random and changes after each ride, so that rides cannot be followed. What the documents hold is described by GBFS itself, at https://gbfs.org.`;
}
