import { useId, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { type Choice, Field } from "./field.tsx";

interface PickFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly error?: string | undefined;
  /** Each choice has a name to show and an id as its value. Undefined while the choices are loading. */
  readonly choices: readonly Choice[] | undefined;
  /** The chosen ids. */
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

/**
 * A field in which the reader chooses several of many items by typing parts of their names. The form cannot be submitted
 * while the field holds a text that has not chosen an item, because it matches none or several.
 */
export function PickField({ label, hint, error, choices = [], chosen, onChange }: PickFieldProps) {
  const list = useId();
  const [typed, setTyped] = useState("");
  // The choices that are left: they are not chosen yet.
  const left = choices.filter(({ value }) => !chosen.includes(value));
  /** Adds the found choice. Without one, keeps the text and blocks the form as long as there is a text. */
  const pick = (input: HTMLInputElement, found: Choice | undefined) => {
    setTyped(found === undefined ? input.value : "");
    if (found !== undefined) onChange([...chosen, found.value]);
    const isUnmatched = found === undefined && input.value !== "";
    input.setCustomValidity(isUnmatched ? "Choose one of the list, or empty the field." : "");
  };
  return (
    <div class="stack">
      <Field label={label} hint={hint} error={error}>
        {(control) => (
          <input
            {...control}
            class="control"
            type="text"
            list={list}
            value={typed}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => {
              // When the text comes from the list instead of the keyboard, some browsers leave out `inputType`, and
              // others set it to `insertReplacementText`.
              const { inputType = "" } = event as Partial<InputEvent>;
              const isChosen = inputType === "" || inputType === "insertReplacementText";
              pick(event.currentTarget, choiceNamed(left, event.currentTarget.value, isChosen));
            }}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || typed === "") return;
              event.preventDefault();
              pick(event.currentTarget, bestMatch(left, typed));
              event.currentTarget.reportValidity();
            }}
            onBlur={({ currentTarget: input }) => typed !== "" && pick(input, bestMatch(left, typed))}
          />
        )}
      </Field>
      <datalist id={list}>
        {left.map(({ value, label: name }) => (
          <option key={value} value={name} label={name === value ? undefined : value} />
        ))}
      </datalist>
      <Picked
        label={label}
        chosen={chosen.map((id) => choices.find(({ value }) => value === id) ?? { value: id, label: id })}
        onRemove={(id) => onChange(chosen.filter((each) => each !== id))}
      />
    </div>
  );
}

interface PickedProps {
  readonly label: string;
  readonly chosen: readonly Choice[];
  readonly onRemove: (id: string) => void;
}

function Picked({ label, chosen, onRemove }: PickedProps) {
  return (
    <div class="row" role="group" aria-label={`Chosen: ${label}`}>
      {chosen.map(({ value, label: name }) => (
        <Button key={value} label={`Remove ${name}`} onClick={() => onRemove(value)}>
          {name} ×
        </Button>
      ))}
    </div>
  );
}

const plain = (text: string) => text.trim().toLowerCase();

/**
 * Returns the choice with exactly this name or id.
 * @param isChosen whether the text was picked from the list instead of typed
 */
function choiceNamed(choices: readonly Choice[], typed: string, isChosen: boolean): Choice | undefined {
  const found = choices.find(({ value, label }) => label === typed || value === typed.trim());
  // A typed name is not accepted yet if a longer name begins with it, because the reader may continue to type.
  const mayContinue = choices.some((each) => each !== found && each.label.startsWith(typed));
  return isChosen || !mayContinue ? found : undefined;
}

/** Returns the choice with this name or id, or else the only choice whose name contains the text, in any case. */
function bestMatch(choices: readonly Choice[], typed: string): Choice | undefined {
  const found = choices.filter(({ label }) => plain(label).includes(plain(typed)));
  return choiceNamed(choices, typed, true) ?? (found.length === 1 ? found[0] : undefined);
}
