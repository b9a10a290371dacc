import { type Scope, scopeNames } from "@bikeshare/contract/pure";
import { Checkbox } from "../components/field.tsx";
import "./scope-choice.css";

interface ScopeChoiceProps {
  /** The scopes to offer. Default: all. */
  readonly offered?: readonly Scope[];
  readonly chosen: readonly Scope[];
  readonly error: string | undefined;
  readonly onChange: (chosen: readonly Scope[]) => void;
}

/** Checkboxes for the scopes of a key. */
export function ScopeChoice({ offered = scopeNames, chosen, error, onChange }: ScopeChoiceProps) {
  return (
    <fieldset class="scopes" data-wrong={error && "true"}>
      <legend>Scopes</legend>
      {offered.map((scope) => (
        <Checkbox
          key={scope}
          label={<code class="mono">{scope}</code>}
          checked={chosen.includes(scope)}
          onChange={(isChosen) => onChange(isChosen ? [...chosen, scope] : chosen.filter((one) => one !== scope))}
        />
      ))}
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
