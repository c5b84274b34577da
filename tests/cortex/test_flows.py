"""Which test fails when a sentence of the flows (and of the wire) is broken.

store and store_many
    one path: a single store has a batch's guarantees     flow_wait::recall_is_asked_for_the_first_2
    an empty or oversized batch is refused, nothing sent  wires::a_bad_cursor_or_request_sends_nothi
    a restamped observed_at is a replay                   flow_store::an_item_that_is_held_is_a_repl
    the same text at two nodes is two items               flow_store::the_same_text_at_two_nodes
    one id lookup per scope, up to 50 labels              flow_store::replays_are_found_by_one_looku
    each hit re-checked against the envelope's real id    flow_store::a_label_that_others_share
    every event present: replay, nothing written          flow_store::an_item_that_is_held_is_a_repl
    some turns present: only the missing, in order        flow_store::hosted_a_half_stored_conv
    ... in the middle, too                                flow_store::a_turn_in_the_middle_that_is
    repeated inside the batch: replay of its first copy   flow_store::an_item_repeated_in_a_batch
    Direct: one experience, or one ordered bulk           wires::two_or_more_events_of_one_item
    TinyHumans: one event at a time                       wires::hosted_writes_are_one_event_each
    the wait is once per scope                            flow_wait::every_scope_is_awaited_once
    ranked recall for one event of the last scope only    flow_wait::recall_is_asked_for_the_first_2
    receipts in item order                                flow_store::the_turns_of_an_item_keep
    on an error the items before are stored and replays   flow_store::after_a_failure_the_items_befo
    keys are fresh, a forgotten item is stored again      flow_store::a_forgotten_item_is_stored_aga
    key format                                            envelope::keys_are_fresh_and_say_nothing

waiting
    listed: fatal after 30 s                              flow_wait::a_write_that_is_never_listed
    settled: best effort, 10 s                            flow_wait::ranked_recall_gets_10_s
    a recall that is down, slow or errs ends it quietly   flow_wait::a_recall_that_is_down_ends
    250 ms; Direct keeps it, TinyHumans doubles to 2 s    flow_wait::a_write_that_is_never_listed
    TinyHumans: 429 and 5xx mean "not yet"                flow_wait::hosted_a_transient_failure_of
    ... to the deadline                                   flow_wait::hosted_the_wait_for_a_listing
    Direct: such an error is returned                     flow_wait::direct_a_listing_that_is_down

hosted writes
    one claim for a write's attempts, 250 and 500 ms      flow_wait::hosted_a_transient_fault_is_ret
    a fault before the memory API leaves the claim free   flow_wait::hosted_a_429_of_the_api_s_own
    409 on a retry, found: its id is the receipt          flow_wait::hosted_a_conflict_on_a_retry_is
    ... only exactly the same stored text counts          flow_wait::hosted_only_exactly_the_same_te
    409 on a retry, not found: unavailable, unknown       flow_wait::hosted_a_conflict_on_a_retry_th
    409 on the first attempt: conflict                    flow_wait::hosted_a_conflict_on_the_first
    Direct writes are sent once                           flow_store::a_direct_write_is_sent_once
    ... and a retry by the caller is safe                 flow_store::direct_a_write_whose_answer_wa

list
    kinds in order, then namespaces, each newest first    flow_read::kinds_then_namespaces_each
    no scope: an empty page                               flow_read::an_empty_memory_is_an_empty_pag
    a scope gone between pages: the next from its start   flow_read::a_scope_gone_between_pages
    a scope created between pages shifts nothing          flow_read::a_scope_created_between_pages
    limit 200, one label                                  flow_read::one_label_narrows_and_the_full
    copies are skipped, also across pages                 flow_read::copies_are_skipped_also_across
    foreign events and other kinds are ignored            flow_read::what_others_wrote_into_a_scope
    a conversation once, all turns by one lookup          flow_read::a_conversation_is_listed_once
    a half-stored one lists with what it holds            flow_read::a_half_stored_conversation_list
    a cursor unless the last scope ended                  flow_read::there_is_no_cursor_once_the_las
    scores are 0                                          flow_read::get_in_the_order_asked
    at most 500 pages, then an error of the engine        flow_read::a_listing_ends_after_500_pages
    a cursor of the wrong operation, a malformed one      flow_read::a_cursor_of_another_operation
    the cursor's tag, hex and fields                      labels_scopes_cursors::a_list_cursor_is_l

fetch
    other modes are unsupported before any request        flow_rank::other_modes_are_unsupported
    min((end + 1) * 3, 1000) events                       flow_rank::three_events_are_asked_for_a_hi
    the full filter again on this side                    flow_rank::recall_is_narrowed_by_one_label
    each item once, scopes interleaved by rank            flow_rank::scopes_are_interleaved_rank
    a conversation hit is the whole, one lookup a node    flow_rank::a_conversation_is_one_hit
    1 / (1 + rank); a cursor while there is more          flow_rank::pages_follow_one_another
    a cursor of the wrong operation                       flow_rank::a_cursor_of_another_operation

recall
    one scope: one pack                                   flow_rank::recall_answers_from_one_pack
    no reach: one pack that descends                      flow_rank::without_a_reach_one_pack_descen
    several scopes: exact packs, most specific first      flow_rank::a_reach_over_several_scopes
    ... four at a time                                    flow_rank::several_packs_are_built_four
    2 * limit events, derived layers share the limit      shapes::the_derived_layers_share_the_limit
    the pack with most admitted events answers            flow_rank::the_pack_with_most_admitted
    a missing pack_id is an error of the engine           flow_rank::a_pack_without_an_id_is
    so is an answer without text                          flow_rank::an_answer_without_text
    citations: one an item, capped, no score              flow_rank::a_citation_is_one_an_item
    no decodable events: an answer, no citations          flow_rank::a_pack_without_decodable

forget, get, explore, discovery, health
    an empty target is refused and sends nothing          flow_forget::an_empty_target_is_refused
    ids wherever they live, every event of each           flow_forget::ids_are_found_wherever
    a filter within its reach                             flow_forget::a_reach_confines_a_forget
    memory_ids in batches of 100                          flow_forget::events_are_named_100_at_a_tim
    nothing to remove: no request; never confirm_all      flow_forget::a_scope_with_nothing_to_remov
    TinyHumans: 3 attempts                                flow_forget::hosted_a_forget_is_tried_thre
    ... a 404 on a retry is done                          flow_forget::hosted_a_404_on_a_retry_means
    Direct: once                                          flow_forget::direct_a_forget_is_sent_once
    items are counted, not events                         flow_forget::items_are_counted_not_events
    get: as asked, unknown ids left out                   flow_read::get_in_the_order_asked
    get: stops once all are found, looks by label         flow_read::get_stops_as_soon_as_every
    get: within its reach                                 flow_read::get_sees_no_further_than
    explore: by listing, says when it stopped early       flow_read::explore_counts_by_listing
    discovery once a call, with this prefix and limit     flow_read::discovery_asks_once_a_call
    a 404 of the scopes route: no further scopes          wires::a_404_of_the_scopes_route
    paths that are not ours are skipped                   labels_scopes_cursors::a_path_that_is_no
    the tenant in front of what is listed back            flow_read::a_tenant_in_front_is_no_hindran
    health: one request, not the backend's words          wires::health_says_nothing_of_the_service
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_test_of_the_table_is_there() -> None:
    named = re.findall(r"  (\w+)::(\w+)$", __doc__ or "", re.MULTILINE)
    assert len(named) > 70
    texts = {module: (HERE / f"test_{module}.py").read_text() for module, _ in named}
    missing = [f"{m}::{n}" for m, n in named if f"def test_{n}" not in texts[m]]
    assert missing == []
