import type { FactKind, FieldType, LocalText } from "@bikeshare/contract/facts";
import type { ComponentChildren, ComponentType } from "preact";
import { useContext, useId } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Sentence } from "../../components/code.tsx";
import { Checkbox, Field } from "../../components/field.tsx";
import { FormContext, useFactError } from "./form-context.ts";
import { fieldOf, itemsOf } from "./json-parts.ts";
import { inWords, labelOf } from "./words.ts";
import "./gbfs.css";

/*
 * The inputs of forms for facts. A fact is a value that GBFS publishes about a thing, such as the name of a station. Forms
 * hold a draft of each fact (form-values.ts) and pass errors, languages and choices by `FormContext`.
 */

interface FactInputProps {
  readonly type: FieldType;
  /** The field as the service names it: `rental_apps.ios.store_uri`. */
  readonly path: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly required?: boolean | undefined;
  /** The typed value; undefined: the fact is not set. */
  readonly draft: unknown;
  /** The value that applies while the fact is not set. */
  readonly published: unknown;
  readonly onChange: (draft: unknown) => void;
}

/** The input for a fact, or a group of inputs for its parts, depending on its type. */
export function FactInput(props: FactInputProps) {
  const { type } = props;
  const Renderer = type.kind === "list" ? listRenderer(type) : (renderers[type.kind] ?? LineInput);
  return <Renderer {...props} />;
}

/** The inputs by type of fact. `LineInput` is the one of all other types. */
const renderers: { readonly [Kind in FieldType["kind"]]?: ComponentType<FactInputProps> } = {
  text: TextsInput,
  textUri: TextsInput,
  boolean: YesNoInput,
  oneOf: WordInput,
  object: ObjectInput,
  multiPolygon: GeoJsonInput,
};

function listRenderer({ item }: FieldType): ComponentType<FactInputProps> {
  return item?.kind === "object" ? RowsInput : CheckboxesInput;
}

/** The kind of thing that an id refers to, by the name of the id's field. */
const references: Readonly<Record<string, FactKind>> = {
  default_pricing_plan_id: "pricing_plan",
  pricing_plan_id: "pricing_plan",
  pricing_plan_ids: "pricing_plan",
  vehicle_type_ids: "vehicle_type",
};

/** Returns the name of a field, without the path to it: `rules` for `features[0].properties.rules[1]`. */
const nameIn = (path: string) => path.slice(path.lastIndexOf(".") + 1).replace(/\[\d+\]$/, "");

/** Returns the things that the id in this field may refer to. Undefined: `references` does not list the field. */
function useReferences(path: string) {
  const { choices } = useContext(FormContext);
  const kind = references[nameIn(path)];
  return kind && (choices[kind] ?? []);
}

/** Suggested values by type of field. */
const suggestions: { readonly [Kind in FieldType["kind"]]?: () => readonly string[] } = {
  timeZone: () => Intl.supportedValuesOf("timeZone"),
  currency: () => Intl.supportedValuesOf("currency"),
  licence: () => ["CC-BY-4.0", "CC0-1.0", "ODbL-1.0", "ODC-By-1.0", "NLOD-2.0", "DL-DE-BY-2.0"],
  openingHours: () => ["24/7", "Mo-Su 05:00-24:00"],
};

const inputTypes: { readonly [Kind in FieldType["kind"]]?: "date" | "email" } = { date: "date", email: "email" };

/** An input for one line of text, or a list of choices if the field holds an id. */
function LineInput(props: FactInputProps) {
  const { type, path, label, hint, draft, published, onChange } = props;
  const choices = useReferences(path);
  const list = useId();
  const error = useFactError(path);
  if (choices !== undefined) return <SelectInput {...props} choices={choices} />;
  const suggested = suggestions[type.kind]?.();
  const isNumber = type.kind === "integer" || type.kind === "number";
  // The types of JSX want one literal `type`. All types that are used here take a text.
  const kind = { type: inputTypes[type.kind] ?? "text" } as { readonly type: "text" };
  return (
    <Field
      label={label}
      hint={sentence(hintWith(hint, type.kind === "date" ? published : undefined))}
      error={error}
      required={props.required}
    >
      {(control) => (
        <>
          <input
            {...control}
            {...kind}
            class="control"
            value={(draft ?? "") as string}
            placeholder={shortText(published)}
            list={suggested && list}
            inputMode={isNumber ? "decimal" : undefined}
            spellcheck={false}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          {suggested && (
            <datalist id={list}>
              {suggested.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

/**
 * Returns the hint of an input that can show no placeholder, such as a date: it also names the value that applies.
 * @param published undefined: the hint stays as it is
 */
function hintWith(hint: string | undefined, published: unknown): string | undefined {
  return published === undefined ? hint : `${hint === undefined ? "" : `${hint}. `}Now: ${shortText(published) ?? ""}`;
}

const sentence = (text: string | undefined) => text && <Sentence>{text}</Sentence>;

interface Labelled {
  readonly value: string;
  readonly label: string;
}

/** A list of choices. The empty choice leaves the fact unset. */
function SelectInput(props: FactInputProps & { readonly choices: readonly Labelled[] }) {
  const { path, label, hint, draft, published, onChange, choices } = props;
  const value = (draft ?? "") as string;
  // The label of the published value: the empty choice shows what applies while none is chosen.
  const applies = choices.find((choice) => choice.value === published)?.label ?? shortText(published);
  // If the set id no longer exists, it stays in the list, so that the operator sees it and can choose another.
  const all =
    value === "" || choices.some((choice) => choice.value === value) ? choices : [...choices, choiceOf(value)];
  return (
    <Field label={label} hint={sentence(hint)} error={useFactError(path)} required={props.required}>
      {(control) => (
        <select {...control} class="control" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{applies === undefined ? "Not set" : `Not set here: ${applies}`}</option>
          {all.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Returns a choice for a word of GBFS, or for an id that has no name. */
const choiceOf = (word: string): Labelled => ({ value: word, label: inWords(word) });

/** A list of the words that GBFS allows for the field. */
function WordInput(props: FactInputProps) {
  return <SelectInput {...props} choices={(props.type.words ?? []).map(choiceOf)} />;
}

const yesNo = [
  { value: "yes", label: "Yes", is: true },
  { value: "no", label: "No", is: false },
];
const asWord = (value: unknown) => yesNo.find(({ is }) => is === value)?.value;

/** A list instead of a checkbox, because a fact may also be unset. */
function YesNoInput(props: FactInputProps) {
  const { draft, published, onChange } = props;
  return (
    <SelectInput
      {...props}
      choices={yesNo}
      draft={asWord(draft)}
      published={asWord(published)}
      onChange={(word) => onChange(word === "" ? undefined : word === "yes")}
    />
  );
}

/** Inputs for a text in several languages. */
function TextsInput({ path, label, hint, required, draft, published, onChange }: FactInputProps) {
  const { language } = useContext(FormContext);
  const applies = itemsOf(published) as readonly LocalText[];
  // While the fact is not set: an empty row for each published language, or else for the language of the system.
  const unset = applies.length > 0 ? applies.map((each) => each.language) : [language];
  const rows = (draft as readonly LocalText[] | undefined) ?? unset.map((tag) => ({ text: "", language: tag }));
  return (
    <Group label={label} hint={hint} error={useFactError(path)} required={required}>
      {rows.map((each, index) => (
        <TextInput
          key={index}
          label={rows.length > 1 ? `${label}, ${each.language}` : label}
          languageLabel={`Language of ${label}, ${index + 1}`}
          isLong={nameIn(path) === "description"}
          typed={each}
          placeholder={applies.find((one) => one.language === each.language)?.text}
          onChange={(changed) => onChange(rows.with(index, changed))}
          onRemove={rows.length > 1 ? () => onChange(without(rows, index)) : undefined}
        />
      ))}
      <AddButton label={`Add a language to ${label}`} onClick={() => onChange([...rows, { text: "", language: "" }])}>
        Add a language
      </AddButton>
    </Group>
  );
}

interface TextInputProps {
  readonly label: string;
  readonly languageLabel: string;
  readonly isLong: boolean;
  /** The typed text and its language. */
  readonly typed: LocalText;
  readonly placeholder: string | undefined;
  readonly onChange: (text: LocalText) => void;
  readonly onRemove: (() => void) | undefined;
}

/** The inputs for a text in one language, and for the language itself. */
function TextInput({ label, languageLabel, isLong, typed, placeholder, onChange, onRemove }: TextInputProps) {
  const shared = { class: "control", "aria-label": label, value: typed.text, placeholder };
  const change = (text: string) => onChange({ ...typed, text });
  return (
    <div class="fact-text">
      {isLong ? (
        <textarea {...shared} rows={2} onInput={(event) => change(event.currentTarget.value)} />
      ) : (
        <input {...shared} type="text" onInput={(event) => change(event.currentTarget.value)} />
      )}
      <input
        class="control"
        type="text"
        aria-label={languageLabel}
        value={typed.language}
        spellcheck={false}
        onInput={(event) => onChange({ ...typed, language: event.currentTarget.value })}
      />
      {onRemove && (
        <Button variant="quiet" label={`Remove ${label}`} onClick={onRemove}>
          Remove
        </Button>
      )}
    </div>
  );
}

/** Checkboxes for a list of words, or of ids of existing things. */
function CheckboxesInput({ type, path, label, hint, draft, published, onChange }: FactInputProps) {
  const known = useReferences(path);
  const choices = known ?? (type.item?.words ?? []).map(choiceOf);
  const chosen = itemsOf(draft) as readonly string[];
  const applies = draft === undefined ? shortText(published) : undefined;
  return (
    <Group label={label} hint={hintWith(hint, applies)} error={useFactError(path)}>
      <div class="fact-checks">
        {choices.length === 0 && <p class="field-hint">There is nothing to choose from yet.</p>}
        {choices.map(({ value, label: title }) => (
          <Checkbox
            key={value}
            label={title}
            checked={chosen.includes(value)}
            onChange={(isChosen) => onChange(isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))}
          />
        ))}
      </div>
    </Group>
  );
}

/** A list of objects, one below the other. Examples: the steps of a price, the rules of a zone. */
function RowsInput({ type, path, label, hint, draft, published, onChange }: FactInputProps) {
  const rows = itemsOf(draft);
  const applies = itemsOf(published);
  const { item } = type;
  // Rows of a source or of the defaults apply, and the operator has added none.
  const isFromOthers = draft === undefined && applies.length > 0;
  return (
    <Group
      label={label}
      hint={isFromOthers ? hintWith(hint, `${applies.length}, until you add your own`) : hint}
      // `true`: without the errors of the rows, whose inputs show them.
      error={useFactError(path, true)}
    >
      {rows.map((each, index) => (
        <div key={index} class="fact-row">
          {item && (
            <Parts
              type={item}
              path={`${path}[${index}]`}
              draft={each}
              published={undefined}
              onChange={(changed) => onChange(rows.with(index, changed))}
            />
          )}
          <Button
            variant="quiet"
            label={`Remove ${index + 1} of ${label}`}
            onClick={() => onChange(without(rows, index))}
          >
            Remove
          </Button>
        </div>
      ))}
      <AddButton label={`Add to ${label}`} onClick={() => onChange([...rows, {}])}>
        Add
      </AddButton>
    </Group>
  );
}

/** The fields of an object, such as the apps for each system, under a common label. */
function ObjectInput(props: FactInputProps) {
  const { path, label, hint } = props;
  return (
    // `true`: without the errors of the fields, whose inputs show them.
    <Group label={label} hint={hint} error={useFactError(path, true)}>
      <Parts {...props} />
    </Group>
  );
}

/** Inputs for the fields of an object, without the fields that newer GBFS versions have removed. */
function Parts({ type, path, draft, published, onChange }: Omit<FactInputProps, "label">) {
  const fields = Object.entries(type.fields ?? {}).filter(([, { until }]) => until === undefined);
  return (
    <>
      {fields.map(([name, field]) => (
        <FactInput
          key={name}
          type={field.type}
          path={`${path}.${name}`}
          label={labelOf(name)}
          draft={fieldOf(draft, name)}
          published={fieldOf(published, name)}
          onChange={(changed) => onChange({ ...(draft as object | undefined), [name]: changed })}
        />
      ))}
    </>
  );
}

/** An input for GeoJSON, typed or read from a file. */
function GeoJsonInput({ path, label, hint, draft, published, onChange }: FactInputProps) {
  const text = (draft ?? "") as string;
  const read = async (file: File | undefined) => {
    if (file !== undefined) onChange(await file.text());
  };
  return (
    <>
      <Field
        label={label}
        hint={sentence(hintWith(hint, published && text === "" ? "an outline" : undefined))}
        error={useFactError(path)}
      >
        {(control) => (
          <textarea
            {...control}
            class="control control-mono"
            rows={4}
            value={text}
            spellcheck={false}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
        )}
      </Field>
      <input
        type="file"
        class="fact-file"
        aria-label={`${label} from a file`}
        accept=".json,.geojson,application/json,application/geo+json"
        onChange={(event) => void read(event.currentTarget.files?.[0])}
      />
    </>
  );
}

interface GroupProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error: string | undefined;
  readonly required?: boolean | undefined;
  readonly children: ComponentChildren;
}

/** A group of inputs with a common label, and a hint or an error for the whole group. */
function Group({ label, hint, error, required, children }: GroupProps) {
  const id = useId();
  return (
    <fieldset
      class="fact-group"
      aria-describedby={error === undefined ? `${id}-hint` : `${id}-error`}
      data-wrong={error && "true"}
    >
      <legend data-required={required}>{label}</legend>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="field-hint">
          <Sentence>{hint}</Sentence>
        </p>
      )}
      {children}
      {error !== undefined && (
        <p id={`${id}-error`} class="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

interface AddButtonProps {
  readonly label: string;
  readonly onClick: () => void;
  readonly children: string;
}

function AddButton({ label, onClick, children }: AddButtonProps) {
  return (
    <div>
      <Button variant="quiet" label={label} onClick={onClick}>
        {children}
      </Button>
    </div>
  );
}

/** Returns the items without one. Undefined if none is left, so that the fact counts as not set. */
function without<Item>(items: readonly Item[], index: number): readonly Item[] | undefined {
  const left = items.filter((_, each) => each !== index);
  return left.length === 0 ? undefined : left;
}

/** Returns a value as one line of text; undefined if there is none. Of a text in several languages, returns the first. */
export function shortText(value: unknown): string | undefined {
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string") return value;
  const [first] = itemsOf(value);
  if (first !== undefined && itemsOf(value).every((each) => typeof each === "string")) {
    return itemsOf(value)
      .map((each) => inWords(each as string))
      .join(", ");
  }
  const text = fieldOf(first, "text");
  return typeof text === "string" ? text : JSON.stringify(value);
}
