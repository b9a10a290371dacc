import { useState } from "preact/hooks";
import { Button, ButtonLink } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Checkbox, SelectField, TextField } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { Menu, MenuItem } from "../../components/menu.tsx";
import { showToast } from "../../components/toast.tsx";
import { Example } from "./example.tsx";

/** The part of the page `/_components` (components-page.tsx) with buttons, form fields, a dialog, a menu and toasts. */
export function ActionExamples() {
  return (
    <>
      <Example name="Button">
        <div class="row">
          <Button variant="primary">Save</Button>
          <Button>Cancel</Button>
          <Button variant="quiet">More</Button>
          <Button variant="danger">Revoke the key</Button>
          <ButtonLink href="/_components">A link</ButtonLink>
          <CopyButton text="del_01" label="Copy the delivery's id" />
        </div>
        <div class="row">
          <Button variant="primary" pending>
            Saving …
          </Button>
          <Button disabled>Not now</Button>
          <Button label="Close">
            <Icon name="close" />
          </Button>
        </div>
      </Example>
      <Fields />
      <Overlays />
    </>
  );
}

function Fields() {
  const [text, setText] = useState("https://example.com/hooks");
  const [choice, setChoice] = useState("failed");
  const [isChecked, setChecked] = useState(true);
  return (
    <Example name="Field, Select, Checkbox">
      <div class="filters">
        <TextField label="Address" hint="https, port 443" value={text} onInput={setText} monospace />
        <TextField
          label="Address of the past"
          error="is not a valid URL: begin with https://"
          value="example.com"
          onInput={setText}
        />
        <SelectField
          label="Status"
          value={choice}
          onChange={setChoice}
          choices={[
            { value: "delivered", label: "Delivered" },
            { value: "failed", label: "Failed" },
          ]}
        />
      </div>
      <Checkbox label="Rides" hint="ride.started, ride.ended" checked={isChecked} onChange={setChecked} />
      <Checkbox label="Bikes" checked={false} disabled onChange={setChecked} />
    </Example>
  );
}

function Overlays() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Example name="Dialog, Menu, Toast">
      <div class="row">
        <Button onClick={() => setOpen(true)}>Open a dialog</Button>
        <Menu button="Actions" variant="secondary">
          <MenuItem onSelect={() => showToast("success", "Sent again.")}>Send again</MenuItem>
          <MenuItem isDisabled onSelect={() => undefined}>
            Not possible
          </MenuItem>
          <hr />
          <MenuItem isDangerous onSelect={() => showToast("danger", "The key could not be revoked. Try again.")}>
            Revoke
          </MenuItem>
        </Menu>
        <Button onClick={() => showToast("success", "Saved.")}>Show a toast</Button>
      </div>
      <Dialog
        title="Revoke the key?"
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        actions={
          <>
            <Button onClick={() => setOpen(false)}>Keep it</Button>
            <Button variant="danger" onClick={() => setOpen(false)}>
              Revoke the key
            </Button>
          </>
        }
      >
        <p>Requests with it are refused within a second. This cannot be taken back.</p>
      </Dialog>
    </Example>
  );
}
