from __future__ import annotations

from hpcbatch.controller.mail_limit import MailCount


def test_so_many_an_hour_and_no_more() -> None:
    now = [0.0]
    mails = MailCount(lambda: now[0])
    for second in range(5):
        now[0] = float(second)
        assert mails.wait_s("alice", 2, 10) == 0
        mails.add("alice", 2)
    assert mails.wait_s("alice", 1, 10) == 3596  # until the first of them is an hour old
    assert mails.wait_s("alice", 5, 10) == 3598
    assert mails.wait_s("bob", 1, 10) == 0
    now[0] = 3600.0
    assert mails.wait_s("alice", 2, 10) == 0
    assert mails.wait_s("alice", 3, 10) == 1
    now[0] = 8000.0
    assert mails.wait_s("alice", 10, 10) == 0
    assert not mails._sent


def test_a_mail_to_more_than_that_goes_out_alone() -> None:
    now = [0.0]
    mails = MailCount(lambda: now[0])
    assert mails.wait_s("alice", 20, 10) == 0
    mails.add("alice", 20)
    assert mails.wait_s("alice", 1, 10) == 3600
