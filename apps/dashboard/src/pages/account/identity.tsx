import type { Account } from "@bikeshare/contract/console";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";

interface IdentityProps {
  readonly account: Account;
  /** The identity provider's name. */
  readonly provider: string;
}

/** The connection to the person's account at the identity provider. */
export function Identity({ account: { identity }, provider }: IdentityProps) {
  const { run, isPending } = useAction();
  const connect = () => run(async () => location.assign((await api.account.connectIdentity({ body: {} })).url));
  const disconnect = () =>
    run(async () => {
      queries.setQueryData(["account"], await api.account.disconnectIdentity());
      showToast("success", `${provider} signs you in no more.`);
    });
  return (
    <section class="stack" aria-labelledby="identity">
      <div class="row">
        <h2 id="identity">{provider}</h2>
        <Button pending={isPending} onClick={() => void (identity === null ? connect() : disconnect())}>
          {identity === null ? "Connect" : "Disconnect"}
        </Button>
      </div>
      <p class="muted">
        {identity === null ? (
          "Not connected."
        ) : (
          <>
            Connected{identity.email !== null && ` as ${identity.email}`}, last used{" "}
            <Time at={identity.last_used_at} show="relative" />.
          </>
        )}{" "}
        Signing out here signs you out there only if this session began there.
      </p>
    </section>
  );
}
