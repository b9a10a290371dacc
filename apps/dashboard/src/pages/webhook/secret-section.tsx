import type { Webhook } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { SelectField } from "../../components/field.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";
import type { PartnerParams } from "./settings-form.tsx";

interface SecretSectionProps {
  readonly params: PartnerParams;
  readonly secrets: Webhook["secrets"];
  readonly canChange: boolean;
}

/** The secret that deliveries are signed with: shown to whoever confirms who they are, and rotated. */
export function SecretSection({ params, secrets, canChange }: SecretSectionProps) {
  const [secret, setSecret] = useState<string>();
  const [overlap, setOverlap] = useState("24");
  const { run, isPending } = useAction();
  const show = () => run(async () => setSecret((await api.webhook.showSecret({ params, body: {} })).secret));
  const rotate = () =>
    run(async () => {
      const rotated = await api.webhook.rotateSecret({ params, body: { overlap_hours: Number(overlap) } });
      setSecret(rotated.secret);
      await queries.invalidateQueries({ queryKey: ["webhook"] });
      showToast("success", "There is a new secret. Give it to your receiver before the old one ends.");
    });
  return (
    <section class="card stack" aria-labelledby="secret">
      <h2 id="secret">Secret</h2>
      <SecretList secrets={secrets} />
      {secret !== undefined && <Code label="The newest secret" text={secret} />}
      {canChange && (
        <div class="webhook-actions">
          <Button pending={isPending} onClick={() => void show()}>
            Show the secret
          </Button>
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
