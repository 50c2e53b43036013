import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Abortable, AbortWatch } from '../../../lib/core/abort-watch.js';

describe('the watch over a signal', () => {
  let watch: AbortWatch;
  let controller: AbortController;

  beforeEach(() => {
    watch = new AbortWatch();
    controller = new AbortController();
  });

  function waiting(): { aborted: ReturnType<typeof vi.fn<Abortable['aborted']>> } {
    const abortable = { aborted: vi.fn<Abortable['aborted']>() };
    watch.add(controller.signal, abortable);
    return abortable;
  }

  function listeners(): number {
    return getEventListeners(controller.signal, 'abort').length;
  }

  it('takes one listener, however many wait under it, and none when nobody does', () => {
    const warned = vi.spyOn(process, 'emitWarning');
    const all = Array.from({ length: 50 }, waiting);
    expect(listeners()).toBe(1);
    for (const one of all) {
      watch.remove(controller.signal, one);
    }
    expect(listeners()).toBe(0);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  it('tells all that still wait why, once', () => {
    const [first, left, last] = [waiting(), waiting(), waiting()];
    watch.remove(controller.signal, left);
    controller.abort('enough');
    controller.abort('again');
    expect(first.aborted.mock.calls).toEqual([['enough']]);
    expect(last.aborted.mock.calls).toEqual([['enough']]);
    expect(left.aborted).not.toHaveBeenCalled();
  });

  it('lets those leave that are told, and others with them', () => {
    const [first, second, third] = [waiting(), waiting(), waiting()];
    first.aborted.mockImplementation(() => {
      watch.remove(controller.signal, first);
      watch.remove(controller.signal, second);
    });
    third.aborted.mockImplementation(() => watch.remove(controller.signal, third));
    controller.abort();
    expect(second.aborted).not.toHaveBeenCalled();
    expect(third.aborted).toHaveBeenCalledTimes(1);
    expect(listeners()).toBe(0);
  });

  it('begins anew for those who come after all have left', () => {
    watch.remove(controller.signal, waiting());
    const late = waiting();
    controller.abort('late');
    expect(late.aborted).toHaveBeenCalledWith('late');
  });

  it('does not care about those it does not know', () => {
    const known = waiting();
    const stranger = { aborted: vi.fn<Abortable['aborted']>() };
    watch.remove(controller.signal, stranger);
    watch.remove(new AbortController().signal, stranger);
    controller.abort();
    expect(known.aborted).toHaveBeenCalledTimes(1);
  });
});
