import type { Webhook } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { SelectField } from "../../components/field.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";
import { type WebhookTarget, refreshWebhooks, type WebhookClient } from "./webhook-client.ts";

interface SecretSectionProps {
  readonly target: WebhookTarget;
  readonly client: Pick<WebhookClient, "showSecret" | "rotateSecret">;
  readonly secrets: Webhook["secrets"];
  readonly canChange: boolean;
  /** The newest secret, if the reader has asked to see it. */
  readonly secret: string | undefined;
  readonly onSecret: (secret: string) => void;
}

/** The section of the signing secret, which shows the secret after a confirmation and rotates it. */
export function SecretSection({ target, client, secrets, canChange, secret, onSecret }: SecretSectionProps) {
  const [overlap, setOverlap] = useState("24");
  const { run, isPending } = useAction();
  const { showSecret } = client;
  const rotate = () =>
    run(async () => {
      const rotated = await client.rotateSecret({ ...target, body: { overlap_hours: Number(overlap) } });
      onSecret(rotated.secret);
      await refreshWebhooks();
      showToast("success", "New secret created. Deploy it to your receiver before the old one ends.");
    });
  return (
    <section class="card stack" aria-labelledby="secret">
      <h2 id="secret">Secret</h2>
      <SecretList secrets={secrets} />
      {secret !== undefined && <Code label="The newest secret" text={secret} />}
      {canChange && (
        <div class="webhook-actions">
          {showSecret !== undefined && (
            <Button
              pending={isPending}
              onClick={() => void run(async () => onSecret((await showSecret({ ...target, body: {} })).secret))}
            >
              Show the secret
            </Button>
          )}
          <SelectField
            label="Old secrets sign for another"
            value={overlap}
            choices={[
              { value: "0", label: "0 hours: they end now" },
              { value: "24", label: "24 hours" },
              { value: "72", label: "3 days" },
              { value: "168", label: "7 days" },
            ]}
            onChange={setOverlap}
          />
          <Button variant="danger" pending={isPending} onClick={() => void rotate()}>
            Rotate the secret
          </Button>
        </div>
      )}
    </section>
  );
}

function SecretList({ secrets }: Pick<SecretSectionProps, "secrets">) {
  return (
    <ul class="webhook-list">
      {secrets.map(({ id, expires_at }) => (
        <li key={id}>
          <code class="mono">{id}</code>{" "}
          <span class="muted">
            {expires_at === null ? (
              "signs until it is rotated"
            ) : (
              <>
                signs until <Time at={expires_at} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
