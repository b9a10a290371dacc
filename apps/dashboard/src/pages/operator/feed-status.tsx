import type { FollowedFeed } from "@bikeshare/contract/console";
import { Status, type Tone } from "../../components/status.tsx";

const tones: Readonly<Record<FollowedFeed["state"], readonly [tone: Tone, word: string]>> = {
  well: ["success", "well"],
  failing: ["danger", "failing"],
  not_applied: ["danger", "not applied"],
  stale: ["warning", "stale"],
};

/** The state of a followed feed in a word. */
export function FeedStatus({ state }: { readonly state: FollowedFeed["state"] }) {
  const [tone, word] = tones[state];
  return <Status tone={tone}>{word}</Status>;
}
