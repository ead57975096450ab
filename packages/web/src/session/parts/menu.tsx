import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import "./menu.css";

/** Something a menu offers. */
export interface MenuItem {
  readonly name: string;
  /** What it does, in a few more words. */
  readonly hint?: string;
  readonly run: () => void;
}

/** A menu with a name, opened by a button or by whoever holds its place. */
export interface MenuProps {
  readonly name: string;
  readonly items: readonly MenuItem[];
  /** Where it opens: below this element. */
  readonly anchor: HTMLElement;
  /** Told when it closes; the focus goes back to the anchor unless an item was chosen. */
  readonly onClose: () => void;
}

/** The open menu itself: arrows, Home, End and first letters move, Enter chooses, Escape and Tab close. */
export function Menu({ name, items, anchor, onClose }: MenuProps): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    if (!element.matches(":popover-open")) element.showPopover();
    placeBelow(element, anchor);
    buttonsOf(element)[0]?.focus();
  }, [anchor]);
  useEffect(() => {
    const leave = (event: Event): void => {
      if (event.target instanceof Node && list.current?.contains(event.target)) return;
      onClose();
    };
    window.addEventListener("pointerdown", leave);
    window.addEventListener("resize", onClose);
    return () => {
      window.removeEventListener("pointerdown", leave);
      window.removeEventListener("resize", onClose);
    };
  }, [onClose]);

  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    const buttons = list.current === null ? [] : buttonsOf(list.current);
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = chooseByKey(event.key, at, buttons);
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      onClose();
      anchor.focus();
    } else if (next !== undefined) {
      event.preventDefault();
      next.focus();
    }
  };
  return (
    <div ref={list} popover="manual" role="menu" aria-label={name} tabIndex={-1} className="menu" onKeyDown={onKeyDown}>
      {items.map((item) => (
        <button
          key={item.name}
          type="button"
          role="menuitem"
          tabIndex={-1}
          className="menu-item"
          onClick={() => {
            onClose();
            anchor.focus();
            item.run();
          }}
        >
          <span>{item.name}</span>
          {item.hint === undefined ? null : <small>{item.hint}</small>}
        </button>
      ))}
    </div>
  );
}

/** A button that opens a menu. Its items are made when it opens. */
export function MenuButton({
  name,
  items,
  className = "button-quiet",
  children = "⋯",
  tabIndex,
}: {
  readonly name: string;
  readonly items: () => readonly MenuItem[];
  readonly className?: string;
  readonly children?: ReactNode;
  readonly tabIndex?: number;
}): ReactNode {
  const id = useId();
  const [open, setOpen] = useState<{ anchor: HTMLElement; items: readonly MenuItem[] }>();
  return (
    <>
      <button
        type="button"
        id={id}
        className={className}
        aria-label={name}
        aria-haspopup="menu"
        aria-expanded={open !== undefined}
        tabIndex={tabIndex}
        title={name}
        onPointerDown={(event) => {
          // Else the press that closes it would open it again.
          if (open !== undefined) event.stopPropagation();
        }}
        onClick={(event) => {
          const anchor = event.currentTarget;
          setOpen(open === undefined ? { anchor, items: items() } : undefined);
        }}
      >
        {children}
      </button>
      {open === undefined ? null : <Menu name={name} {...open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function buttonsOf(menu: HTMLElement): HTMLButtonElement[] {
  return [...menu.querySelectorAll<HTMLButtonElement>("[role=menuitem]")];
}

function chooseByKey(key: string, at: number, buttons: readonly HTMLButtonElement[]): HTMLButtonElement | undefined {
  if (key === "ArrowDown") return buttons[(at + 1) % buttons.length];
  if (key === "ArrowUp") return buttons.at(at <= 0 ? -1 : at - 1);
  if (key === "Home") return buttons[0];
  if (key === "End") return buttons.at(-1);
  if (key.length !== 1 || key === " ") return undefined;
  const from = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)];
  return from.find((button) => button.textContent?.toLowerCase().startsWith(key.toLowerCase()));
}

/** Below the anchor, above it where there is no room, and always within the window. */
function placeBelow(menu: HTMLElement, anchor: HTMLElement): void {
  const gap = 4;
  const place = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = place.bottom + gap;
  const top = below + height <= innerHeight ? below : Math.max(gap, place.top - gap - height);
  const left = Math.min(Math.max(gap, place.right - width), Math.max(gap, innerWidth - width - gap));
  menu.style.top = `${top}px`;
  menu.style.left = `${left}px`;
}
