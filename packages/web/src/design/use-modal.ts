import { type RefObject, useEffect, useRef } from "react";

/** Opens a dialog as soon as it is there. When it is gone, the focus is where it was before. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    const before = document.activeElement;
    if (!element.open) element.showModal();
    return () => {
      // One that is taken out of the page, rather than closed, leaves the focus nowhere.
      if (!element.isConnected && document.activeElement === document.body && before instanceof HTMLElement)
        before.focus();
    };
  }, []);
  return dialog;
}
