/* Sockets of Unix under user mode: which messages belong together.

   Problem: a receiver must find what its sender has noted, and two ends have no common name: most have none at all.
   Approach: a connection is known by the inode of one end, and its two ways apart. Of connect and accept that is the
   end that connected. It is there before the other end is accepted, and the accepted end has the listener's name, which
   tells the two apart. A pair without names, as of socketpair, is known by the lower inode. The kernel says which inode
   the other end has (sock_diag, UNIX_DIAG_PEER), as long as it is open. So it is asked when an end is accepted, and the
   answer is kept through forks.
   Datagrams are known by who receives them. One that names its receiver in the call has no connection. */
#include "recorder.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KNOWN = 1024 };
/* An inode, and above it that of its other end. A place has the last one that came to it. The kernel gives no inode of
   a socket twice before it has given all 2^32. */
static uint64_t known[KNOWN];
static const uint64_t UNIX = 1ull << 40;

static uint64_t *place_of(uint32_t inode)
{
    return &known[inode * 2654435761u % KNOWN];
}

static void know(uint32_t inode, uint32_t other)
{
    if (inode && other)
        __atomic_store_n(place_of(inode), (uint64_t)other << 32 | inode, __ATOMIC_RELAXED);
}

static uint32_t inode_of(int descriptor)
{
    struct stat about;
    return fstat(descriptor, &about) ? 0 : (uint32_t)about.st_ino;
}

/* The inode of the other end in the kernel's answer; 0 if there is none. */
static uint32_t other_in(const struct nlmsghdr *head, size_t length)
{
    if (!NLMSG_OK(head, length) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY
        || head->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
        return 0;
    const char *at = (const char *)NLMSG_DATA(head) + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
    const char *end = (const char *)head + head->nlmsg_len;
    struct nlattr part;
    while (end - at >= (ptrdiff_t)sizeof part) {
        memcpy(&part, at, sizeof part);
        uint32_t inode;
        if (part.nla_len < sizeof part || part.nla_len > end - at)
            return 0;
        if (part.nla_type == UNIX_DIAG_PEER && part.nla_len == sizeof part + sizeof inode) {
            memcpy(&inode, at + sizeof part, sizeof inode);
            return inode;
        }
        at += NLA_ALIGN(part.nla_len);
    }
    return 0;
}

/* Asks the kernel for the other end of a socket; 0 if it does not know, or has closed it, or not accepted it. */
static uint32_t ask(uint32_t inode)
{
    struct {
        struct nlmsghdr head;
        struct unix_diag_req asked;
    } request = {
        {sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0},
        {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_ino = inode, .udiag_show = UDIAG_SHOW_PEER,
         .udiag_cookie = {~0u, ~0u}},
    };
    union {
        struct nlmsghdr head;
        char bytes[512];
    } answer;
    int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0)
        return 0;
    ssize_t n = -1;
    if (send(kernel, &request, sizeof request, 0) == (ssize_t)sizeof request)
        n = recv(kernel, &answer, sizeof answer, MSG_DONTWAIT);
    close(kernel);
    return n > 0 ? other_in(&answer.head, (size_t)n) : 0;
}

static uint32_t other_end(uint32_t inode)
{
    uint64_t pair = __atomic_load_n(place_of(inode), __ATOMIC_RELAXED);
    if ((uint32_t)pair == inode)
        return (uint32_t)(pair >> 32);
    uint32_t other = ask(inode);
    know(inode, other);
    return other;
}

static bool has_name(int descriptor, int (*name_of)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    return !name_of(descriptor, (void *)&at, &size) && size > sizeof at.ss_family;
}

/* What messages on a socket of Unix have in common, from the sender's and from the receiver's end; 0 = not known. */
uint64_t unix_connection(int descriptor, bool sends)
{
    uint32_t own = inode_of(descriptor);
    int type = SOCK_STREAM;
    socklen_t size = sizeof type;
    getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size);
    if (type == SOCK_DGRAM) {
        /* Its other end may change. */
        uint32_t receiver = sends ? ask(own) : own;
        return receiver ? UNIX | receiver : 0;
    }
    bool connected = has_name(descriptor, getpeername), accepted = has_name(descriptor, getsockname);
    if (connected && !accepted)
        return UNIX | (uint64_t)own << 1 | sends;
    uint32_t other = other_end(own);
    if (!other)
        return 0;
    bool is_first = accepted == connected && own < other;
    return UNIX | (uint64_t)(is_first ? own : other) << 1 | (is_first == sends);
}

/* A system call of the program has succeeded. If it made ends of a connection, they are known from now on. */
void unix_made(struct thread *t, int64_t number, int64_t result)
{
    int pair[2];
    if (number == SYS_socketpair && user_read(t, t->call_a4, pair, sizeof pair)) {
        uint32_t one = inode_of(pair[0]), two = inode_of(pair[1]);
        know(one, two);
        know(two, one);
    } else if (number == SYS_accept || number == SYS_accept4) {
        struct sockaddr_storage at = {0};
        socklen_t size = sizeof at;
        if (!getsockname((int)result, (void *)&at, &size) && at.ss_family == AF_UNIX)
            other_end(inode_of((int)result));
    }
}
